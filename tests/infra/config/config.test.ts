import { describe, expect, test } from "@jest/globals";
import { ConfigError, readConfig } from "../../../infra/config/config.js";

describe("the configuration", () => {
  test("has a default for everything", () => {
    expect(readConfig({})).toEqual({
      dataDirectory: "data",
      httpAddress: { host: "127.0.0.1", port: 8443 },
      tlsFiles: null,
      isPlain: false,
      publicUrl: null,
      activeDevicesMax: 1,
      model: null,
      tokensPerDay: 1_000_000,
      allowsRawReasoning: false,
      approvalHours: 24,
      undoSeconds: null,
      logLevel: "info",
    });
  });

  test.each([
    ["127.0.0.1:80", { host: "127.0.0.1", port: 80 }],
    ["[::1]:8443", { host: "::1", port: 8443 }],
    ["localhost:0", { host: "localhost", port: 0 }],
  ])("understands the address %s", (text, address) => {
    expect(readConfig({ PINCER_HTTP_ADDR: text }).httpAddress).toEqual(address);
  });

  test.each(["8443", "localhost", "localhost:65536", "local host:1", ":1", "localhost:-1"])(
    "refuses the address %s",
    (text) => {
      expect(() => readConfig({ PINCER_HTTP_ADDR: text })).toThrow(ConfigError);
    },
  );

  test("takes a certificate and its key together", () => {
    const files = { PINCER_TLS_CERT: "cert.pem", PINCER_TLS_KEY: "key.pem" };
    expect(readConfig(files).tlsFiles).toEqual({ certFile: "cert.pem", keyFile: "key.pem" });
    for (const name of ["PINCER_TLS_CERT", "PINCER_TLS_KEY"] as const) {
      expect(() => readConfig({ [name]: files[name] })).toThrow("PINCER_TLS_CERT and PINCER_TLS_KEY belong together");
    }
  });

  test("speaks without TLS only when told to", () => {
    expect(readConfig({ PINCER_PLAIN_HTTP: "1" }).isPlain).toBe(true);
    expect(readConfig({ PINCER_PLAIN_HTTP: "0" }).isPlain).toBe(false);
    expect(() => readConfig({ PINCER_PLAIN_HTTP: "yes" })).toThrow("PINCER_PLAIN_HTTP");
  });

  test("knows where devices find the server", () => {
    const url = "https://pincer.example:8443";
    expect(readConfig({ PINCER_PUBLIC_URL: url }).publicUrl).toBe(url);
    expect(() => readConfig({ PINCER_PUBLIC_URL: "pincer" })).toThrow("PINCER_PUBLIC_URL");
  });

  test.each([
    ["1", 1],
    ["100", 100],
  ])("lets %s devices in", (text, count) => {
    expect(readConfig({ PINCER_MAX_ACTIVE_DEVICES: text }).activeDevicesMax).toBe(count);
  });

  test.each(["0", "101", "-1", "1.5", "many", ""])("refuses to let %j devices in", (text) => {
    expect(() => readConfig({ PINCER_MAX_ACTIVE_DEVICES: text })).toThrow("PINCER_MAX_ACTIVE_DEVICES");
  });

  test("refuses a log level that is none", () => {
    expect(() => readConfig({ PINCER_LOG_LEVEL: "loud" })).toThrow("PINCER_LOG_LEVEL");
  });
});

describe("the model that is asked", () => {
  const openRouter = "https://openrouter.ai/api/v1";

  test("is the provider's that the key is for, unless it is said where else", () => {
    const key = { PINCER_OPENROUTER_API_KEY: "k", PINCER_MODEL_PRIMARY: "big" };
    const usual = { baseUrl: openRouter, apiKey: "k", primary: "big", fallback: null };
    expect(readConfig(key).model).toEqual(usual);
    expect(readConfig({ ...key, PINCER_MODEL_FALLBACK: "small" }).model).toEqual({ ...usual, fallback: "small" });
    const baseUrl = "https://models.example/v1";
    expect(readConfig({ ...key, PINCER_MODEL_BASE_URL: baseUrl }).model).toEqual({ ...usual, baseUrl });
  });

  test("needs no key where nobody wants one", () => {
    const baseUrl = "http://127.0.0.1:11434/v1";
    const local = { PINCER_MODEL_BASE_URL: baseUrl, PINCER_MODEL_PRIMARY: "big" };
    expect(readConfig(local).model).toEqual({ baseUrl, apiKey: "", primary: "big", fallback: null });
  });

  test.each([{ PINCER_MODEL_PRIMARY: "big" }, { PINCER_MODEL_FALLBACK: "small" }])(
    "is not named without anybody to ask: %j",
    (variables) => {
      expect(() => readConfig(variables)).toThrow(ConfigError);
      expect(() => readConfig(variables)).toThrow(/PINCER_OPENROUTER_API_KEY.*PINCER_MODEL_BASE_URL/);
    },
  );

  test.each([
    { PINCER_OPENROUTER_API_KEY: "secret-key" },
    { PINCER_MODEL_BASE_URL: "http://127.0.0.1:11434/v1" },
    { PINCER_OPENROUTER_API_KEY: "secret-key", PINCER_MODEL_FALLBACK: "small" },
  ])("must be named if there is somebody to ask: %j", (variables) => {
    expect(() => readConfig(variables)).toThrow(ConfigError);
    expect(() => readConfig(variables)).toThrow("PINCER_MODEL_PRIMARY");
    expect(() => readConfig(variables)).not.toThrow("secret-key");
  });

  test.each([
    "models.example",
    "ftp://models.example/v1",
    "https://user:password@models.example/v1",
    "https://models.example/v1?key=1",
    "https://models.example/v1#here",
    "",
  ])("is not asked at %j", (url) => {
    const variables = { PINCER_MODEL_BASE_URL: url, PINCER_MODEL_PRIMARY: "big" };
    expect(() => readConfig(variables)).toThrow("PINCER_MODEL_BASE_URL");
  });

  test.each(["PINCER_OPENROUTER_API_KEY", "PINCER_MODEL_PRIMARY", "PINCER_MODEL_FALLBACK"])(
    "has something to be called and asked with: %s is not empty",
    (name) => {
      const variables = { PINCER_OPENROUTER_API_KEY: "k", PINCER_MODEL_PRIMARY: "big", [name]: "" };
      expect(() => readConfig(variables)).toThrow(name);
    },
  );

  test("shows what it thinks word for word only when told to", () => {
    expect(readConfig({ PINCER_ALLOW_RAW_REASONING: "1" }).allowsRawReasoning).toBe(true);
    expect(readConfig({ PINCER_ALLOW_RAW_REASONING: "0" }).allowsRawReasoning).toBe(false);
    expect(() => readConfig({ PINCER_ALLOW_RAW_REASONING: "true" })).toThrow("PINCER_ALLOW_RAW_REASONING");
  });
});

describe.each([
  [
    "PINCER_DAILY_TOKEN_BUDGET",
    "tokensPerDay",
    [0, 1, 999_999_999_999],
    ["-1", "1.5", "1e6", "many", "", " 1", "1".repeat(13)],
  ],
  ["PINCER_APPROVAL_TTL_HOURS", "approvalHours", [1, 24, 999], ["0", "-1", "1.5", "1000", "01", "a day", ""]],
  ["PINCER_UNDO_SECONDS", "undoSeconds", [0, 10, 9_999], ["-1", "1.5", "10000", "soon", ""]],
] as const)("the number %s", (name, field, good, bad) => {
  test.each(good)("may be %s", (value) => {
    expect(readConfig({ [name]: String(value) })[field]).toBe(value);
  });

  test.each(bad)("is not %j", (text) => {
    expect(() => readConfig({ [name]: text })).toThrow(ConfigError);
    expect(() => readConfig({ [name]: text })).toThrow(name);
  });
});
