import { describe, expect, test } from "@jest/globals";
import { ConfigError, readConfig } from "../../../infra/config/config.js";

describe("the configuration", () => {
  test("has a default for everything", () => {
    expect(readConfig({})).toEqual({
      dataDirectory: "data",
      httpAddress: { host: "127.0.0.1", port: 8443 },
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

  test("refuses a log level that is none", () => {
    expect(() => readConfig({ PINCER_LOG_LEVEL: "loud" })).toThrow("PINCER_LOG_LEVEL");
  });
});
