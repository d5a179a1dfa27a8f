// Opens a data directory as a server does: node start-child.js DIRECTORY. Says how long that took, and ends.
import { openBackend } from "../support/backend.js";

const started = performance.now();
const backend = await openBackend(process.argv[2]!);
process.stdout.write(`${performance.now() - started}\n`);
backend.close();
