import type { MessageRow } from "./threads/messages.js";
import type { ThreadRow } from "./threads/threads.js";

/** Every table of `read-models.db`, as the queries see it. */
export interface ReadModelTables {
  readonly messages: MessageRow;
  readonly threads: ThreadRow;
}
