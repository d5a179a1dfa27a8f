// A server with a tool that acts, for effect-once-killed.ts, which kills it: says "ready" once it answers.
import { outletTool } from "../support/outlet.js";
import { startServer } from "../support/server.js";
import { say } from "./say.js";

const { directory, url } = JSON.parse(process.argv[2]!) as { directory: string; url: string };
await startServer(directory, { isPlain: true }, { tools: [outletTool(url)] });
say("ready");
