import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * Runs a command from the project's root, with the project's tools and this Node first in PATH, and resolves with its exit code.
 * SIGINT and SIGTERM are passed on, so that nobody is left writing into node_modules or dist when we are gone.
 */
export async function run(command, args, { stdio, env = {}, onOutput } = {}) {
  // Loaded here because most launches find everything fresh and start no process.
  const { spawn } = await import("node:child_process");
  const path = [join(root, "node_modules", ".bin"), dirname(process.execPath), process.env.PATH].join(delimiter);
  const child = spawn(command, args, { cwd: root, stdio, env: { ...process.env, PATH: path, ...env } });
  const pass = (signal) => child.kill(signal);
  process.on("SIGINT", pass).on("SIGTERM", pass);
  child.stdout?.on("data", onOutput);
  child.stderr?.on("data", onOutput);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  }).finally(() => process.off("SIGINT", pass).off("SIGTERM", pass));
}
