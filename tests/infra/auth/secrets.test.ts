import { describe, expect, test } from "@jest/globals";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { pino } from "pino";
import { hashPairingCode } from "../../../infra/auth/pairing-code.js";
import { serve } from "../../../infra/server/serve.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { networkTransport, testConfig } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { refusedBy } from "../rpc/protocols.js";

const bench = workbench();

/** Every file of the data directory, while the server runs: so also what is still in a write-ahead log. */
function bytesOnDisk(): Buffer {
  const files = readdirSync(bench.path).filter((name) => !name.endsWith(".sock"));
  expect(files).toEqual(expect.arrayContaining(["log.db", "log.db-wal", "read-models.db"]));
  return Buffer.concat(files.map((name) => readFileSync(join(bench.path, name))));
}

/** A secret, in every form in which it may have been written. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret, "base64url");
  return [
    Buffer.from(secret),
    Buffer.from(secret.toLowerCase()),
    Buffer.from(`${secret.slice(0, 4)}-${secret.slice(4)}`),
    ...(bytes.length > 16 ? [bytes.subarray(16), Buffer.from(bytes.subarray(16).toString("hex"))] : []),
  ];
}

describe("codes and tokens", () => {
  test("are in no file and in no log, however verbose", async () => {
    const lines: string[] = [];
    const logger = pino({ level: "trace" }, { write: (line) => lines.push(line) });
    const running = await serve(testConfig(bench.path), logger);
    const auth = (token?: string) => createClient(AuthService, networkTransport(running.url, token));
    const code = (await running.firstPairingCode())!;
    const { token } = await auth().bindPairingCode({ code, deviceName: "phone" });
    const { token: next } = await auth(token).rotateToken({});
    const { code: unused } = await auth(next).createPairingCode({});
    // What is presented in vain stays out of it, too.
    const wrong = "7WRNG777";
    await refusedBy(auth().bindPairingCode({ code: wrong }));
    await refusedBy(createClient(ThreadsService, networkTransport(running.url, `${next}x`)).listThreads({}));

    const disk = bytesOnDisk();
    const log = Buffer.from(lines.join(""));
    for (const form of [code, unused, token, next, wrong].flatMap(formsOf)) {
      expect([form.toString("latin1"), disk.includes(form)]).toEqual([form.toString("latin1"), false]);
      expect([form.toString("latin1"), log.includes(form)]).toEqual([form.toString("latin1"), false]);
    }
    expect(lines.length).toBeGreaterThan(0);
    expect(disk.includes("devicePaired") || disk.includes("phone")).toBe(true); // We do look in the right place.
    await running.stop();
  });

  test("have a hash that differs for the same letters", () => {
    expect(hashPairingCode("a", "00000000")).not.toEqual(hashPairingCode("b", "00000000"));
  });
});
