import { readConfig } from "../config/config.js";
import { createLogger } from "../config/logger.js";
import { serve } from "../server/serve.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./exit.js";

/** Runs the server until it is told to stop, or cannot go on. */
export async function runServer({ dataDirectory, signal }: CliContext): Promise<number> {
  const config = { ...readConfig(process.env), dataDirectory };
  const logger = createLogger(config.logLevel);
  const running = await serve(config, logger);
  signal.addEventListener("abort", () => {
    logger.info("stopping");
    running.stop().catch(() => undefined); // Whatever it is, `ended` tells.
  });
  await running.ended;
  logger.info("stopped");
  return exitCodes.fine;
}
