import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { day, hour, minute } from "../../../domain/shared/index.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { logged, loggedEvents, untilLogged } from "../rpc/logged-events.js";
import { movableClock } from "../rpc/movable-clock.js";
import { refusedBy } from "../rpc/protocols.js";

const bench = workbench();
const clock = movableClock();
const unauthenticated = { code: "Unauthenticated", refusal: "unauthenticated" };
let server: TestServer;

beforeEach(async () => {
  server = await startServer(bench.path, {}, { clock });
});
afterEach(() => server.stop());

const use = (token: string) => server.client(ThreadsService, token).listThreads({});
const rotate = (token: string) => server.client(AuthService, token).rotateToken({});

describe("a token", () => {
  test("is 256 bits and an id, lasts thirty days, and is to be renewed after fifteen", async () => {
    const { code } = await server.operator(AuthService).createPairingCode({});
    const { token, expiresAt, renewAfter } = await server.client(AuthService).bindPairingCode({ code });
    expect(token).toMatch(/^[\w-]{64}$/);
    const now = Math.floor(clock.now() / 1_000);
    expect(Number(expiresAt?.seconds) - now).toBe((30 * day) / 1_000);
    expect(Number(renewAfter?.seconds) - now).toBe((15 * day) / 1_000);
  });

  test("may be written with any case of its scheme", async () => {
    const { token } = await server.pair();
    const { items } = await server
      .client(DevicesService)
      .listDevices({}, { headers: { authorization: `bEaReR ${token}` } });
    expect(items).toHaveLength(1);
  });

  test("outlives a restart of the server", async () => {
    const { token } = await server.pair();
    await use(token);
    await server.stop();
    server = await startServer(bench.path, {}, { clock });
    await use(token);
  });

  test("can be renewed for ever", async () => {
    let { token } = await server.pair();
    for (let month = 0; month < 6; month++) {
      clock.forward(29 * day);
      ({ token } = await rotate(token));
      await use(token);
    }
    expect(await logged(server, "tokenIssued")).toHaveLength(7);
  });
});

describe("rotation", () => {
  test("gives a new token; the old one is good until the new one was used", async () => {
    const { token: old } = await server.pair();
    const { token: next } = await rotate(old);
    await use(old);
    await use(next);
    await untilLogged(server, "tokenRevoked");
    expect(await refusedBy(use(old))).toMatchObject(unauthenticated);
    await use(next);
  });

  test("whose answer was lost can be asked for again; the token that was lost is dead", async () => {
    const { token: old } = await server.pair();
    const { token: lost } = await rotate(old);
    const { token: next } = await rotate(old);
    expect(await refusedBy(use(lost))).toMatchObject(unauthenticated);
    await use(next);
  });

  test("leaves the old one ten minutes, if the new one never arrived", async () => {
    const { token: old } = await server.pair();
    const { token: next } = await rotate(old);
    clock.forward(10 * minute - 1);
    await use(old);
    clock.forward(1);
    expect(await refusedBy(use(old))).toMatchObject(unauthenticated);
    expect(await refusedBy(rotate(old))).toMatchObject(unauthenticated);
    await use(next);
  });

  test("never makes the old one live longer than it would have", async () => {
    const { token: old } = await server.pair();
    clock.forward(30 * day - minute);
    const { token: next } = await rotate(old);
    clock.forward(minute);
    expect(await refusedBy(use(old))).toMatchObject(unauthenticated);
    await use(next);
  });

  test("asked for many times at once leaves one token that is good", async () => {
    const { token: old } = await server.pair();
    const rotated = await Promise.allSettled(Array.from({ length: 8 }, () => rotate(old)));
    const tokens = rotated.flatMap((result) => (result.status === "fulfilled" ? [result.value.token] : []));
    const used = await Promise.allSettled(tokens.map(use));
    expect(used.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("is nothing for the operator, who has no token", async () => {
    expect(await refusedBy(server.operator(AuthService).rotateToken({}))).toMatchObject(unauthenticated);
  });

  test("survives a restart between the new token's issue and its first use", async () => {
    const { token: old } = await server.pair();
    const { token: next } = await rotate(old);
    await server.stop();
    server = await startServer(bench.path, {}, { clock });
    await use(old);
    await use(next);
    await untilLogged(server, "tokenRevoked");
    expect(await refusedBy(use(old))).toMatchObject(unauthenticated);
  });
});

describe("when a device was last used", () => {
  const lastUsed = async (token: string) =>
    Number((await server.client(DevicesService, token).listDevices({})).items[0]?.lastUsedAt?.seconds ?? 0);

  test("is known to the hour, without a write for each request", async () => {
    const { token } = await server.pair();
    await use(token);
    await untilLogged(server, "deviceSeen");
    const first = await lastUsed(token);
    expect(first).toBe(Math.floor(clock.now() / 1_000));
    const before = (await loggedEvents(server)).length;
    await Promise.all(Array.from({ length: 100 }, () => use(token)));
    expect(await loggedEvents(server)).toHaveLength(before);

    clock.forward(hour);
    await use(token);
    await untilLogged(server, "deviceSeen", 2);
    expect(await lastUsed(token)).toBe(first + hour / 1_000);
    expect(await loggedEvents(server)).toHaveLength(before + 1);
  });
});

describe("a revoked device", () => {
  test("is refused from the next request on; to revoke it again changes nothing", async () => {
    const { token, deviceId } = await server.pair();
    await use(token);
    const devices = server.operator(DevicesService);
    await devices.revokeDevice({ deviceId });
    expect(await refusedBy(use(token))).toMatchObject(unauthenticated);
    const before = (await loggedEvents(server)).length;
    await devices.revokeDevice({ deviceId });
    expect(await loggedEvents(server)).toHaveLength(before);
  });

  test("that nobody knows is not found", async () => {
    const { token } = await server.pair();
    for (const deviceId of ["", "nobody", "x".repeat(100_000)]) {
      expect(await refusedBy(server.client(DevicesService, token).revokeDevice({ deviceId }))).toMatchObject({
        code: "NotFound",
        refusal: "device_not_found",
      });
    }
  });
});
