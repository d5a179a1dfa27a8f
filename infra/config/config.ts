import { isIP } from "node:net";
import { z } from "zod";

/** Where the server listens. */
export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

const httpAddress = z.string().transform((text, context): HttpAddress => {
  const [, host = "", port = ""] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  const bareHost = host.replace(/^\[(.*)\]$/, "$1");
  const isHost = isIP(bareHost) !== 0 || /^[a-z0-9.-]+$/i.test(bareHost);
  if (isHost && Number(port) <= 65_535) return { host: bareHost, port: Number(port) };
  context.addIssue({ code: "custom", message: `"${text}" is not an address such as 127.0.0.1:8443` });
  return z.NEVER;
});

const environment = z.object({
  PINCER_DATA_DIR: z.string().min(1).default("data"),
  PINCER_HTTP_ADDR: httpAddress.default({ host: "127.0.0.1", port: 8443 }),
  PINCER_LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

export interface Config {
  readonly dataDirectory: string;
  readonly httpAddress: HttpAddress;
  readonly logLevel: string;
}

/** What the environment asks for. Everything has a default; what is set must make sense. */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const parsed = environment.safeParse(variables);
  if (!parsed.success) throw new ConfigError(z.prettifyError(parsed.error));
  return {
    dataDirectory: parsed.data.PINCER_DATA_DIR,
    httpAddress: parsed.data.PINCER_HTTP_ADDR,
    logLevel: parsed.data.PINCER_LOG_LEVEL,
  };
}

/** Somebody set something that cannot be meant. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
