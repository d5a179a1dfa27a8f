// A server with a tool that acts, for effect-once-killed.ts, which kills it: says "ready" once it answers.
import { outletTool } from "../support/outlet.js";
import { startServer } from "../support/server.js";
import { FastTime } from "./effect-once-time.js";
import { say } from "./say.js";

const { directory, url, rate, since } = JSON.parse(process.argv[2]!) as Record<"directory" | "url", string> &
  Record<"rate" | "since", number>;
const time = new FastTime(rate, since);
const surroundings = { clock: time.clock, timers: time.timers(() => false), tools: [outletTool(url)] };
await startServer(directory, { isPlain: true }, surroundings);
say("ready");
