import type { EventLog } from "../../commands/ports/index.js";

/** The real log, but before each of the first appends, somebody else is faster. */
export function contended(log: EventLog, times: number, somebodyElse: () => Promise<unknown>): EventLog {
  let time = 0;
  return {
    append: async (append) => {
      if (time++ < times) await somebodyElse();
      return log.append(append);
    },
    recall: (command) => log.recall(command),
    streamVersion: (stream) => log.streamVersion(stream),
    readStream: (stream, afterVersion, limit) => log.readStream(stream, afterVersion, limit),
  };
}
