import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { invitationText, pairingUri } from "../../../infra/cli/pair.js";
import { socketFile } from "../../../infra/server/socket-file.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { cli, jsonLines, startCli } from "../../support/cli.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

describe("pincer pair", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await startServer(bench.path);
  });
  afterEach(() => server.stop());

  test("prints a code that a device can be paired with, and how to find the server", async () => {
    const { code, stdout } = await cli(bench.path, "--json", "pair");
    const { url, fingerprint } = server.running;
    expect(code).toBe(0);
    const [invitation] = jsonLines(stdout) as [{ code: string; expires_at: string; uri: string }];
    expect(invitation).toMatchObject({ server_url: url, certificate_fingerprint: fingerprint });
    expect(new Date(invitation.expires_at).toISOString()).toBe(invitation.expires_at);
    expect(invitation.uri).toMatch(/^pincer:\/\/pair\?/);

    const query = new URL(invitation.uri).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      url,
      code: invitation.code,
      fingerprint: fingerprint.replaceAll(":", ""),
    });
    const bound = await server.client(AuthService).bindPairingCode({ code: invitation.code, deviceName: "phone" });
    expect(bound.token).not.toBe("");
  });

  test("shows people the code in two groups, as it may be typed, and no picture where there is no terminal", async () => {
    const { stdout } = await cli(bench.path, "pair");
    const [, shown = ""] = /^code +([0-9A-Z]{4}-[0-9A-Z]{4}) +\(until \S+Z\)$/m.exec(stdout) ?? [];
    expect(stdout.trimEnd().split("\n")).toHaveLength(3);
    expect(stdout).toContain(server.running.fingerprint);
    await server.client(AuthService).bindPairingCode({ code: shown.toLowerCase() });
  });
});

describe("an invitation", () => {
  const invitation = { server_url: "https://pincer.example", certificate_fingerprint: "AB:CD", code: "0123ABCD" };

  test("has a picture on a terminal", () => {
    const text = invitationText(invitation, "for 10 minutes", true);
    expect(text).toContain("0123-ABCD  (for 10 minutes)");
    expect(text).toMatch(/\n█[█▀▄ ]+█\n/);
  });

  test("has no fingerprint without TLS", () => {
    const plain = { ...invitation, server_url: "http://127.0.0.1:8443", certificate_fingerprint: "" };
    expect(invitationText(plain, "for 10 minutes", false)).not.toContain("certificate");
    expect(pairingUri(plain)).toBe("pincer://pair?url=http%3A%2F%2F127.0.0.1%3A8443&code=0123ABCD");
  });
});

describe("without a server", () => {
  test.each([
    [["pair"]],
    [["devices", "list"]],
    [["devices", "revoke", "d1"]],
    [["rpc", "ThreadsService/ListThreads"]],
  ])("%j says that there is none", async (args) => {
    const { code, stdout, stderr } = await cli(bench.path, ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`pincer: no server is running on ${bench.path}; start one with npm start\n`);
  });

  test("a socket that a dead server left behind is none", async () => {
    const dead = startCli(bench.path, ["serve"], { PINCER_HTTP_ADDR: "127.0.0.1:0" });
    await once(dead.stdout, "data");
    dead.kill("SIGKILL");
    await once(dead, "close");
    expect(existsSync(socketFile(bench.path))).toBe(true);
    expect((await cli(bench.path, "pair")).stderr).toContain("no server is running on");
  });
});
