// A server whose turns are measured from outside: node turns-child.js DIRECTORY MODEL_BASE_URL. It says where it is and
// what a client needs, as one line of JSON, and stops when its standard input ends.
import { once } from "node:events";
import { startServer } from "../support/server.js";
import type { TurnsPlace } from "./turns-plan.js";

const [directory, baseUrl] = process.argv.slice(2) as [string, string];
const model = { baseUrl, apiKey: "", primary: "instant", fallback: null };
const server = await startServer(directory, { model, tokensPerDay: 1_000_000_000 });
const { token } = await server.pair();
process.stdout.write(`${JSON.stringify({ url: server.running.url, token } satisfies TurnsPlace)}\n`);
process.stdin.resume();
await once(process.stdin, "end");
await server.stop();
