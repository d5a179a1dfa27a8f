// Watches a log that others write to, and says every position it sees.
import { openLogReader, tail } from "../../infra/event-log/index.js";
import { say } from "./say.js";

const { directory } = JSON.parse(process.argv[2] ?? "") as { directory: string };
const log = openLogReader(directory);
say("ready");
// A log reader does not keep a process alive, and this one shall watch until it is killed.
setInterval(() => undefined, 60_000);
for await (const page of tail(log, { afterPosition: 0 }, new AbortController().signal)) {
  say(page.map(({ position }) => position).join("\n"));
}
