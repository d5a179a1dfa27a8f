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

const openRouterUrl = "https://openrouter.ai/api/v1";

const environment = z.object({
  PINCER_DATA_DIR: z.string().min(1).default("data"),
  PINCER_HTTP_ADDR: httpAddress.default({ host: "127.0.0.1", port: 8443 }),
  PINCER_TLS_CERT: z.string().min(1).optional(),
  PINCER_TLS_KEY: z.string().min(1).optional(),
  PINCER_PLAIN_HTTP: z.enum(["0", "1"]).default("0"),
  PINCER_PUBLIC_URL: z
    .string()
    .refine(isBaseUrl, "must be a plain http(s) URL such as https://pincer.example:8443")
    .optional(),
  PINCER_MAX_ACTIVE_DEVICES: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, "must be a number from 1 to 100")
    .default("1"),
  PINCER_OPENROUTER_API_KEY: z.string().min(1).optional(),
  PINCER_MODEL_BASE_URL: z
    .string()
    .refine(isBaseUrl, "must be a plain http(s) URL such as http://127.0.0.1:11434/v1")
    .optional(),
  PINCER_MODEL_PRIMARY: z.string().min(1).optional(),
  PINCER_MODEL_FALLBACK: z.string().min(1).optional(),
  PINCER_DAILY_TOKEN_BUDGET: z
    .string()
    .regex(/^\d{1,12}$/, "must be a number of tokens")
    .default("1000000"),
  PINCER_ALLOW_RAW_REASONING: z.enum(["0", "1"]).default("0"),
  PINCER_APPROVAL_TTL_HOURS: z
    .string()
    .regex(/^(?:[1-9]\d{0,2})$/, "must be a number of hours from 1 to 999")
    .default("24"),
  PINCER_UNDO_SECONDS: z
    .string()
    .regex(/^\d{1,4}$/, "must be a number of seconds")
    .optional(),
  PINCER_LOG_LEVEL: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info"),
});

export interface Config {
  readonly dataDirectory: string;
  readonly httpAddress: HttpAddress;
  /** A certificate of the owner's; without one the server makes its own. */
  readonly tlsFiles: { readonly certFile: string; readonly keyFile: string } | null;
  /** Without TLS, on this machine only. */
  readonly isPlain: boolean;
  /** Where devices find the server, if that is not where it listens. */
  readonly publicUrl: string | null;
  readonly activeDevicesMax: number;
  /** Who answers; null for the model that is built in, which knows nothing and needs nobody. */
  readonly model: ModelConfig | null;
  readonly tokensPerDay: number;
  readonly allowsRawReasoning: boolean;
  /** How long the owner has to decide about an action. */
  readonly approvalHours: number;
  /** How long an approval can be taken back, where a tool has such a time; null for the tool's own. */
  readonly undoSeconds: number | null;
  readonly logLevel: string;
}

export interface ModelConfig {
  readonly baseUrl: string;
  /** "" for a server that wants none. */
  readonly apiKey: string;
  readonly primary: string;
  readonly fallback: string | null;
}

/** What the environment asks for. Everything has a default; what is set must make sense. */
export function readConfig(variables: NodeJS.ProcessEnv): Config {
  const parsed = environment.safeParse(variables);
  if (!parsed.success) throw new ConfigError(z.prettifyError(parsed.error));
  const { data } = parsed;
  return {
    dataDirectory: data.PINCER_DATA_DIR,
    httpAddress: data.PINCER_HTTP_ADDR,
    tlsFiles: tlsFilesOf(data.PINCER_TLS_CERT, data.PINCER_TLS_KEY),
    isPlain: data.PINCER_PLAIN_HTTP === "1",
    publicUrl: data.PINCER_PUBLIC_URL ?? null,
    activeDevicesMax: Number(data.PINCER_MAX_ACTIVE_DEVICES),
    model: modelOf(data),
    tokensPerDay: Number(data.PINCER_DAILY_TOKEN_BUDGET),
    allowsRawReasoning: data.PINCER_ALLOW_RAW_REASONING === "1",
    approvalHours: Number(data.PINCER_APPROVAL_TTL_HOURS),
    undoSeconds: data.PINCER_UNDO_SECONDS === undefined ? null : Number(data.PINCER_UNDO_SECONDS),
    logLevel: data.PINCER_LOG_LEVEL,
  };
}

function modelOf(data: z.infer<typeof environment>): ModelConfig | null {
  const { PINCER_OPENROUTER_API_KEY: apiKey, PINCER_MODEL_BASE_URL: baseUrl } = data;
  const { PINCER_MODEL_PRIMARY: primary, PINCER_MODEL_FALLBACK: fallback } = data;
  if (apiKey === undefined && baseUrl === undefined) {
    if (primary === undefined && fallback === undefined) return null;
    throw new ConfigError("a model is named, but neither PINCER_OPENROUTER_API_KEY nor PINCER_MODEL_BASE_URL is set");
  }
  if (primary === undefined) throw new ConfigError("PINCER_MODEL_PRIMARY must say which model to ask");
  return { baseUrl: baseUrl ?? openRouterUrl, apiKey: apiKey ?? "", primary, fallback: fallback ?? null };
}

/** Where a service is, and nothing more: no user, no query, no fragment. */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return false;
  return `${url.username}${url.password}${url.search}${url.hash}` === "";
}

function tlsFilesOf(certFile: string | undefined, keyFile: string | undefined): Config["tlsFiles"] {
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
  if (certFile === undefined && keyFile === undefined) return null;
  throw new ConfigError("PINCER_TLS_CERT and PINCER_TLS_KEY belong together: set both or neither");
}

/** Somebody set something that cannot be meant. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}
