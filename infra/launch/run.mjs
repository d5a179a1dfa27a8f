// Installs and builds if need be, then runs a compiled file: node infra/launch/run.mjs tests/prove/main.js [arguments]
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./child.mjs";
import { ensureBuilt } from "./prepare.mjs";

await ensureBuilt();
const [entry] = process.argv.splice(2, 1);
if (entry !== undefined) await import(pathToFileURL(join(root, "dist", entry)).href);
