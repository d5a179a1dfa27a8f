import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { minute } from "../../../domain/shared/index.js";
import { AuthService, type BindPairingCodeRequestSchema } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { logged } from "../rpc/logged-events.js";
import { movableClock } from "../rpc/movable-clock.js";
import { connectTo, refusedBy, type Connection } from "../rpc/protocols.js";

const bench = workbench();
const clock = movableClock();
const codeShape = /^[0-9A-HJKMNP-TV-Z]{8}$/;
const invalid = { code: "PermissionDenied", refusal: "pairing_code_invalid" };
let server: TestServer;
let connections: Connection[] = [];

beforeEach(async () => {
  server = await startServer(bench.path, {}, { clock });
});
afterEach(async () => {
  for (const connection of connections) connection.close();
  connections = [];
  await server.stop();
});

const newCode = async () => (await server.operator(AuthService).createPairingCode({})).code;
const wrongCode = "00000000";

function bind(request: MessageInitShape<typeof BindPairingCodeRequestSchema>, address?: string) {
  const connection = connectTo(server.running.url, address);
  connections.push(connection);
  return createClient(AuthService, connection.transports.get("Connect")!).bindPairingCode(request);
}

/** Long enough for every failure to be forgotten; the codes of before are gone, too. */
const rest = () => {
  clock.forward(11 * minute);
};

describe("a pairing code", () => {
  test("is eight characters that nobody confuses, good for ten minutes, with the server's whereabouts", async () => {
    const made = await server.operator(AuthService).createPairingCode({});
    expect(made.code).toMatch(codeShape);
    expect(Number(made.expiresAt?.seconds) * 1_000).toBeGreaterThan(clock.now() + 10 * minute - 1_000);
    expect(made).toMatchObject({
      serverUrl: server.running.url,
      certificateFingerprint: server.running.fingerprint,
    });
    expect(new Set([made.code, await newCode(), await newCode()]).size).toBe(3);
  });

  test("may be typed with dashes, spaces, in lower case, and with letters for digits", async () => {
    const dashed = await newCode();
    await bind({ code: `${dashed.slice(0, 4)}-${dashed.slice(4)}` });
    await bind({ code: ` ${(await newCode()).toLowerCase()} ` });
    let code = await newCode();
    while (!/[01]/.test(code)) code = await newCode();
    await bind({ code: code.replaceAll("0", "o").replaceAll("1", "l") });
    expect(await logged(server, "devicePaired")).toHaveLength(3);
  });

  test("is good once", async () => {
    const code = await newCode();
    await bind({ code });
    expect(await refusedBy(bind({ code }))).toMatchObject(invalid);
  });

  test("is good for one of many who use it at the same time", async () => {
    const code = await newCode();
    const addresses = Array.from({ length: 8 }, (_, index) => `127.0.1.${index + 1}`);
    const bound = await Promise.allSettled(addresses.map((address) => bind({ code }, address)));
    expect(bound.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await logged(server, "devicePaired")).toHaveLength(1);
  });

  test("expires after ten minutes, to the millisecond", async () => {
    const code = await newCode();
    const other = await newCode();
    clock.forward(10 * minute - 1);
    await bind({ code });
    clock.forward(1);
    expect(await refusedBy(bind({ code: other }))).toMatchObject(invalid);
  });

  test("that is wrong, or none at all, is refused all the same", async () => {
    await newCode();
    for (const code of [wrongCode, "", "-", "UUUUUUUU", "0".repeat(10_000), "００００００００", "0000\u00000000"]) {
      expect(await refusedBy(bind({ code }))).toMatchObject(invalid);
      rest();
    }
  });

  test("lives with two others at most: the fourth takes the place of the oldest", async () => {
    const codes = [await newCode(), await newCode(), await newCode(), await newCode()];
    expect(await refusedBy(bind({ code: codes[0]! }, "127.0.0.2"))).toMatchObject(invalid);
    for (const code of codes.slice(1)) await bind({ code });
  });

  test("can be made by a paired device, and by nobody else", async () => {
    const { token } = await server.pair();
    expect((await server.client(AuthService, token).createPairingCode({})).code).toMatch(codeShape);
    expect(await refusedBy(server.client(AuthService).createPairingCode({}))).toMatchObject({
      code: "Unauthenticated",
      refusal: "unauthenticated",
    });
  });
});

describe("binding a device", () => {
  test("revokes the one before, and says so", async () => {
    const first = await server.pair("old phone");
    const second = await server.pair("new phone");
    expect(await logged(server, "deviceRevoked")).toMatchObject([{ deviceId: first.deviceId, reason: "replaced" }]);
    expect(await refusedBy(server.client(ThreadsService, first.token).listThreads({}))).toMatchObject({
      code: "Unauthenticated",
    });
    const { items } = await server.client(DevicesService, second.token).listDevices({});
    expect(items).toMatchObject([
      { name: "new phone", isCurrent: true },
      { name: "old phone", isCurrent: false },
    ]);
    expect(items.map(({ revokedAt }) => revokedAt !== undefined)).toEqual([false, true]);
  });

  test("keeps as many as may be active, and revokes the longest paired", async () => {
    await server.stop();
    server = await startServer(bench.path, { activeDevicesMax: 2 }, { clock });
    const [first, second, third] = [await server.pair("a"), await server.pair("b"), await server.pair("c")];
    await server.client(ThreadsService, second.token).listThreads({});
    await server.client(ThreadsService, third.token).listThreads({});
    expect(await logged(server, "deviceRevoked")).toMatchObject([{ deviceId: first.deviceId, reason: "replaced" }]);
  });

  test("needs a name that can be shown; without one it gets one", async () => {
    const { token } = await bind({ code: await newCode(), deviceName: "" });
    expect((await server.client(DevicesService, token).listDevices({})).items[0]?.name).not.toBe("");
    const code = await newCode();
    const tooLong = await refusedBy(bind({ code, deviceName: "x".repeat(201) }));
    expect(tooLong).toMatchObject({ code: "InvalidArgument", refusal: "text_too_long" });
    clock.forward(minute);
    await bind({ code, deviceName: "x".repeat(200) }); // It was not used up.
  });
});
