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
