import { readConfig } from "../config/config.js";
import { createLogger } from "../config/logger.js";
import { serve, type Running } from "../server/serve.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./exit.js";
import { invitationText, pairingUri, type Invitation } from "./pair.js";

/** Runs the server until it is told to stop, or cannot go on. */
export async function runServer({ dataDirectory, output, signal }: CliContext): Promise<number> {
  const config = { ...readConfig(process.env), dataDirectory };
  const logger = createLogger(config.logLevel);
  const running = await serve(config, logger);
  signal.addEventListener("abort", () => {
    logger.info("stopping");
    running.stop().catch(() => undefined); // Whatever it is, `ended` tells.
  });
  welcome(running, config.publicUrl)
    .then((greeting) => {
      output.print(greeting, toText);
    })
    .catch(() => undefined); // It never became ready: `ended` tells why.
  await running.ended;
  logger.info("stopped");
  return exitCodes.fine;
}

interface Greeting extends Omit<Invitation, "code"> {
  /** Where it listens; devices may have to go another way. */
  readonly url: string;
  /** Null if there is a device that can ask for one. */
  readonly code: string | null;
  readonly uri: string | null;
}

/** On standard output and not in the log: the code is a secret. */
async function welcome(running: Running, publicUrl: string | null): Promise<Greeting> {
  const { url, fingerprint } = running;
  const code = await running.firstPairingCode();
  const whereabouts = { server_url: publicUrl ?? url, certificate_fingerprint: fingerprint };
  return { url, ...whereabouts, code, uri: code === null ? null : pairingUri({ ...whereabouts, code }) };
}

function toText({ url, code, ...whereabouts }: Greeting): string {
  const ready = `Pincer is ready at ${url}`;
  if (code === null) return ready;
  const invitation = invitationText({ ...whereabouts, code }, "for 10 minutes", process.stdout.isTTY);
  return [ready, "", "Pair your phone with it (another code: npx pincer pair):", invitation].join("\n");
}
