import type { DescMethod } from "@bufbuild/protobuf";
import { day } from "../../domain/shared/index.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { DevicesService } from "../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { bearer, garbageTokens, type CallHeaders } from "../infra/rpc/bad-tokens.js";
import { untilLogged } from "../infra/rpc/logged-events.js";
import { guardedMethods, nameOf } from "../infra/rpc/methods.js";
import { movableClock } from "../infra/rpc/movable-clock.js";
import { answerTo, connectTo } from "../infra/rpc/protocols.js";
import { randomFrom } from "../support/random.js";
import { startServer, type TestServer } from "../support/server.js";
import type { Check, OnProgress, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";

const atOnce = 32;
/** More than there are: all of them. */
const everyCase = 1_000_000;

export const authAll: Proof = {
  name: "auth.all",
  promise: "every RPC refuses what it must",
  sizes: { small: 600, full: everyCase },
  run: checkRefusals(async (server, clock) => {
    const [expired, rotated, revoked] = await makeDeadTokens(server, clock);
    return new Map([
      ["an expired one", bearer(expired)],
      ["a rotated one", bearer(rotated)],
      ["a revoked one", bearer(revoked)],
    ]);
  }),
  control: (n, seed, onProgress) =>
    checkRefusals(async (server) => new Map([["one that is good", bearer((await server.pair()).token)]]))(
      Math.ceil(n / 10),
      seed,
      onProgress,
    ),
};

type Clock = ReturnType<typeof movableClock>;
type MakeTokens = (server: TestServer, clock: Clock) => Promise<ReadonlyMap<string, CallHeaders>>;

/** Methods × bad tokens × protocols; `n` of them, if there are more. */
function checkRefusals(makeTokens: MakeTokens): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (path) => {
      const clock = movableClock();
      const server = await startServer(path, { activeDevicesMax: 100 }, { clock });
      const connection = connectTo(server.running.url);
      try {
        const special = await makeTokens(server, clock);
        const tokens = [...special, ...garbageTokens((await server.pair()).token)].slice(
          0,
          special.size === 1 ? 1 : undefined,
        );
        const methods = await guardedMethods();
        const cases = methods.flatMap((method) =>
          tokens.flatMap((token) => [...connection.transports].map((protocol) => ({ method, token, protocol }))),
        );
        return await callAll(sample(cases, n, seed), onProgress);
      } finally {
        connection.close();
        await server.stop();
      }
    });
}

interface Case {
  readonly method: DescMethod;
  readonly token: readonly [string, CallHeaders];
  readonly protocol: readonly [string, Parameters<typeof answerTo>[0]];
}

async function callAll(cases: readonly Case[], onProgress?: OnProgress) {
  const tally = new Tally(onProgress);
  const waiting = cases.values();
  const call = async () => {
    for (const { method, token, protocol } of waiting) {
      const answer = await answerTo(protocol[1], method, token[1]);
      const isRefused = answer === "Unauthenticated";
      tally.add("accepted", isRefused ? 0 : 1);
      tally.case(isRefused ? null : `${protocol[0]} ${nameOf(method)} with ${token[0]} answered ${answer}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, call));
  return tally.finding();
}

function sample(cases: Case[], n: number, seed: number): Case[] {
  const random = randomFrom(seed);
  const left = [...cases];
  const chosen: Case[] = [];
  while (chosen.length < n && left.length > 0) {
    const index = random.below(left.length);
    chosen.push(left[index]!);
    left[index] = left.at(-1)!;
    left.pop();
  }
  return chosen;
}

/** Three tokens that were good once. */
async function makeDeadTokens(server: TestServer, clock: Clock): Promise<[string, string, string]> {
  const { token: expired } = await server.pair();
  clock.forward(31 * day);
  const { token: rotated } = await server.pair();
  const { token: next } = await server.client(AuthService, rotated).rotateToken({});
  await server.client(ThreadsService, next).listThreads({});
  await untilLogged(server, "tokenRevoked");
  const { token: revoked, deviceId } = await server.pair();
  await server.operator(DevicesService).revokeDevice({ deviceId });
  return [expired, rotated, revoked];
}
