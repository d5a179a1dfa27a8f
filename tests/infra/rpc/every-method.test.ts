import { afterEach, describe, expect, test } from "@jest/globals";
import { day, minute } from "../../../domain/shared/index.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { EventsService } from "../../../proto/gen/pincer/protocol/v1/events_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { bearer, garbageTokens, unissuedToken, type CallHeaders } from "./bad-tokens.js";
import { loggedEvents, untilLogged } from "./logged-events.js";
import { allMethods, guardedMethods, nameOf } from "./methods.js";
import { movableClock } from "./movable-clock.js";
import { answerTo, connectTo, type Connection } from "./protocols.js";

const bench = workbench();
const clock = movableClock();
const protocols = ["Connect", "Connect JSON", "gRPC", "gRPC-web"];
let server: TestServer;
let connection: Connection;

afterEach(async () => {
  connection.close();
  await server.stop();
});

async function start(): Promise<{ token: string }> {
  server = await startServer(bench.path, {}, { clock });
  connection = connectTo(server.running.url);
  return server.pair();
}

/** The calls that were not refused, by protocol, method and what was wrong with the token. */
async function letIn(tokens: ReadonlyMap<string, CallHeaders>): Promise<string[]> {
  const methods = await guardedMethods();
  const calls = [...connection.transports].flatMap(([protocol, transport]) =>
    methods.flatMap((method) =>
      [...tokens].map(async ([wrong, headers]) => {
        const answer = await answerTo(transport, method, headers);
        return answer === "Unauthenticated" ? [] : [`${protocol} ${nameOf(method)} with ${wrong}: ${answer}`];
      }),
    ),
  );
  return (await Promise.all(calls)).flat();
}

const only = (wrong: string, token: string) => new Map([[wrong, bearer(token)]]);

describe("every method of every service, over every protocol,", () => {
  test("is there: nine services and more than thirty methods", async () => {
    const methods = await allMethods();
    expect(new Set(methods.map(({ parent }) => parent.name)).size).toBe(9);
    expect(methods.length).toBeGreaterThan(30);
    await start();
    expect([...connection.transports.keys()]).toEqual(protocols);
  });

  test("refuses no token and one that nobody issued, and leaves no trace of it", async () => {
    await start();
    const before = await loggedEvents(server);
    expect(await letIn(new Map([["none", {}]]))).toEqual([]);
    expect(await letIn(only("an unissued one", unissuedToken(1)))).toEqual([]);
    expect(await loggedEvents(server)).toHaveLength(before.length);
  });

  test("refuses garbage of any kind", async () => {
    const { token } = await start();
    // Every method with every kind of it is what the proof auth.all is about.
    for (const method of [ThreadsService.method.createThread, EventsService.method.watchLog]) {
      for (const [protocol, transport] of connection.transports) {
        for (const [wrong, headers] of garbageTokens(token)) {
          const answer = await answerTo(transport, method, headers);
          expect([protocol, wrong, answer]).toEqual([protocol, wrong, "Unauthenticated"]);
        }
      }
    }
  });

  test("refuses an expired token", async () => {
    const { token } = await start();
    clock.forward(30 * day - 1);
    expect(await letIn(only("one about to expire", token))).not.toEqual([]);
    clock.forward(1);
    expect(await letIn(only("an expired one", token))).toEqual([]);
  });

  test("refuses a rotated token once the new one was used", async () => {
    const { token } = await start();
    const { token: next } = await server.client(AuthService, token).rotateToken({});
    await server.client(ThreadsService, next).listThreads({});
    await untilLogged(server, "tokenRevoked");
    expect(await letIn(only("a rotated one", token))).toEqual([]);
  });

  test("refuses a rotated token after the overlap, even if the new one was never used", async () => {
    const { token } = await start();
    await server.client(AuthService, token).rotateToken({});
    clock.forward(10 * minute);
    expect(await letIn(only("a rotated one", token))).toEqual([]);
  });

  test("refuses a revoked device, and one that was replaced", async () => {
    const { token: replaced } = await start();
    const { token: revoked, deviceId } = await server.pair();
    await server.client(DevicesService, revoked).revokeDevice({ deviceId });
    expect(await letIn(new Map([...only("a replaced one", replaced), ...only("a revoked one", revoked)]))).toEqual([]);
  });

  test("lets a good token in, and says when its room is not built yet", async () => {
    const { token } = await start();
    const methods = (await guardedMethods()).filter(({ name }) => name !== "RotateToken");
    for (const [protocol, transport] of connection.transports) {
      const answers = new Map<string, string[]>();
      for (const method of methods) {
        const answer = await answerTo(transport, method, bearer(token));
        answers.set(answer, [...(answers.get(answer) ?? []), nameOf(method)]);
      }
      expect([protocol, [...answers.keys()].sort()]).toEqual([
        protocol,
        ["InvalidArgument", "NotFound", "Ok", "Unimplemented"].filter((answer) => answers.has(answer)),
      ]);
      const unbuilt = new Set((answers.get("Unimplemented") ?? []).map((name) => name.split("/")[0]));
      for (const service of ["AuthService", "DevicesService", "ThreadsService", "EventsService"]) {
        expect(unbuilt).not.toContain(service);
      }
    }
  });

  test("the only one that asks for no token is BindPairingCode", async () => {
    await start();
    for (const transport of connection.transports.values()) {
      clock.forward(20 * minute);
      expect(await answerTo(transport, AuthService.method.bindPairingCode, {}, { code: "wrong" })).toBe(
        "PermissionDenied",
      );
    }
  });
});
