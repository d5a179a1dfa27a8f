import { v5, v7 } from "uuid";
import type { Ids } from "../../commands/ports/index.js";

/** The namespace of every id that Pincer derives. */
const namespace = "5a1c64f0-6d1f-4a0e-9a59-3c9b8d5f7e21";

export const systemIds: Ids = {
  next: () => v7(),
  // Parts are joined by a character that no id contains, so that ("ab", "c") and ("a", "bc") differ.
  derive: (...parts) => v5(parts.join("\u001f"), namespace),
};
