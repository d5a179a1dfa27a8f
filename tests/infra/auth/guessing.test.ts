import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createClient } from "@connectrpc/connect";
import { minute, second } from "../../../domain/shared/index.js";
import { AuthService } from "../../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { logged } from "../rpc/logged-events.js";
import { movableClock } from "../rpc/movable-clock.js";
import { connectTo, refusedBy, type Connection, type Refused } from "../rpc/protocols.js";

const bench = workbench();
const clock = movableClock();
const wrongCode = "00000000";
let server: TestServer;
let connections = new Map<string, Connection>();

beforeEach(async () => {
  clock.forward(60 * minute);
  server = await startServer(bench.path, {}, { clock });
});
afterEach(async () => {
  leave();
  await server.stop();
});

function leave(): void {
  for (const connection of connections.values()) connection.close();
  connections = new Map();
}

function bind(code: string, address = "127.0.0.1") {
  const connection = connections.get(address) ?? connectTo(server.running.url, address);
  connections.set(address, connection);
  return createClient(AuthService, connection.transports.get("Connect")!).bindPairingCode({ code });
}

const guess = (address?: string): Promise<Refused> => refusedBy(bind(wrongCode, address));
const failures = async () => (await logged(server, "pairingAttemptFailed")).length;

describe("whoever guesses pairing codes", () => {
  test("is on record with the address, each time", async () => {
    await guess("127.0.0.1");
    await guess("127.9.8.7");
    expect(await logged(server, "pairingAttemptFailed")).toMatchObject([
      { address: "127.0.0.1", reason: "pairing_code_invalid" },
      { address: "127.9.8.7", reason: "pairing_code_invalid" },
    ]);
  });

  test("waits twice as long after each failure, and is told how long", async () => {
    for (const pauseSeconds of [1, 2, 4, 8]) {
      expect((await guess()).refusal).toBe("pairing_code_invalid");
      expect(await guess()).toEqual({
        code: "ResourceExhausted",
        refusal: "pairing_rate_limited",
        facts: { retryAfterSeconds: `${pauseSeconds}` },
      });
      clock.forward(pauseSeconds * second - 1);
      expect((await guess()).facts).toEqual({ retryAfterSeconds: "1" });
      clock.forward(1);
    }
    expect(await failures()).toBe(4);
  });

  test("is heard five times in ten minutes from one address, even with the right code", async () => {
    const { code } = await server.operator(AuthService).createPairingCode({});
    for (let failed = 0; failed < 5; failed++) {
      expect((await guess()).refusal).toBe("pairing_code_invalid");
      clock.forward(20 * second);
    }
    expect(await refusedBy(bind(code))).toMatchObject({ refusal: "pairing_rate_limited" });
    await bind(code, "127.0.0.2"); // Somebody else may.
  });

  test("is heard twenty times in ten minutes from all addresses together", async () => {
    for (let from = 1; from <= 20; from++)
      expect((await guess(`127.0.2.${from}`)).refusal).toBe("pairing_code_invalid");
    const { code } = await server.operator(AuthService).createPairingCode({});
    const late = await refusedBy(bind(code, "127.0.3.1"));
    expect(late).toMatchObject({ code: "ResourceExhausted", refusal: "pairing_rate_limited" });
    expect(Number(late.facts["retryAfterSeconds"])).toBe(600);
    clock.forward(Number(late.facts["retryAfterSeconds"]) * second - minute);
    const { code: later } = await server.operator(AuthService).createPairingCode({});
    clock.forward(minute);
    await bind(later, "127.0.3.1");
  });

  test("gains nothing by guessing in parallel", async () => {
    const guesses = Array.from({ length: 100 }, (_, index) => guess(`127.0.4.${index % 10}`));
    const answers = await Promise.all(guesses);
    const evaluated = answers.filter(({ refusal }) => refusal === "pairing_code_invalid").length;
    expect(evaluated).toBeLessThanOrEqual(20);
    expect(await failures()).toBe(evaluated);
    expect(new Set(answers.map(({ refusal }) => refusal))).toEqual(
      new Set(["pairing_code_invalid", "pairing_rate_limited"]),
    );
  });

  test("gains nothing by a restart of the server", async () => {
    for (let failed = 0; failed < 5; failed++) {
      await guess();
      clock.forward(20 * second);
      leave();
      await server.stop();
      server = await startServer(bench.path, {}, { clock });
    }
    expect((await guess()).refusal).toBe("pairing_rate_limited");
  });

  test("gains nothing by asking another way: a bad key is a failure, too", async () => {
    const { code } = await server.operator(AuthService).createPairingCode({});
    const withBadKey = connectTo(server.running.url);
    connections.set("bad key", withBadKey);
    const client = createClient(AuthService, withBadKey.transports.get("gRPC")!);
    const refused = await refusedBy(client.bindPairingCode({ code, publicKey: "no key" }));
    expect(refused).toMatchObject({ code: "InvalidArgument", refusal: "public_key_invalid" });
    expect(await logged(server, "pairingAttemptFailed")).toMatchObject([{ reason: "public_key_invalid" }]);
    expect((await guess()).refusal).toBe("pairing_rate_limited");
  });
});
