import { createClient } from "@connectrpc/connect";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { attemptsMax, attemptsPerAddressMax, attemptWindowMillis } from "../../domain/devices/index.js";
import type { Clock } from "../../commands/ports/index.js";
import type { Config } from "../../infra/config/config.js";
import { second } from "../../domain/shared/index.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { loggedEvents } from "../infra/rpc/logged-events.js";
import { movableClock } from "../infra/rpc/movable-clock.js";
import { connectTo } from "../infra/rpc/protocols.js";
import { randomFrom, type Random } from "../support/random.js";
import { startServer, type TestServer } from "../support/server.js";
import { startUnlimited } from "./auth-guess-unlimited.js";
import type { Check, Finding, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";

const guessesPerRound = 50;
const addressCount = 12;
const alphabet = Array.from("0123456789ABCDEFGHJKMNPQRSTVWXYZ");

export const authGuess: Proof = {
  name: "auth.guess",
  promise: "pairing codes cannot be guessed",
  sizes: { small: 300, full: 20_000 },
  run: checkGuesses(startServer),
  control: (n, seed, onProgress) => checkGuesses(startUnlimited)(Math.min(n, 500), seed, onProgress),
};

type Start = (path: string, overrides: Partial<Config>, surroundings: { clock: Clock }) => Promise<TestServer>;

/** Rounds of parallel guesses from many addresses, time passing and the server restarting in between. */
function checkGuesses(start: Start): Check {
  return (n, seed, onProgress) =>
    withDirectory(async (path) => {
      const random = randomFrom(seed);
      const clock = movableClock();
      const tally = new Tally(onProgress);
      let server = await start(path, {}, { clock });
      try {
        for (let done = 0; done < n; done += guessesPerRound) {
          for (let live = 0; live < 3; live++) await server.operator(AuthService).createPairingCode({});
          const accepted = await guessAtOnce(server, random);
          tally.add("accepted", accepted);
          for (let guess = 0; guess < guessesPerRound; guess++) tally.case(null);
          if (accepted > 0) tally.case(`${accepted} guesses were accepted`);
          clock.forward(random.below(120) * second);
          if (!random.chance(30)) continue;
          await server.stop();
          server = await start(path, {}, { clock });
          tally.add("restarts", 1);
        }
        return await judge(server, tally);
      } finally {
        await server.stop();
      }
    });
}

async function guessAtOnce(server: TestServer, random: Random): Promise<number> {
  const connections = Array.from({ length: addressCount }, (_, index) =>
    connectTo(server.running.url, `127.${random.below(200)}.${random.below(200)}.${index + 1}`),
  );
  const guesses = Array.from({ length: guessesPerRound }, () => {
    const { transports } = random.pick(connections);
    const code = Array.from({ length: 8 }, () => random.pick(alphabet)).join("");
    return createClient(AuthService, random.pick([...transports.values()])).bindPairingCode({ code });
  });
  const answers = await Promise.allSettled(guesses);
  for (const connection of connections) connection.close();
  return answers.filter(({ status }) => status === "fulfilled").length;
}

/** In no window of time were there more than may be, of one address or of all. */
async function judge(server: TestServer, tally: Tally): Promise<Finding> {
  const failures = (await loggedEvents(server)).flatMap(({ payload, occurredAt }) =>
    payload.case === "pairingAttemptFailed" && occurredAt !== undefined
      ? [{ at: timestampMs(occurredAt), address: payload.value.address }]
      : [],
  );
  tally.add("evaluated", failures.length);
  for (const [index, { at, address }] of failures.entries()) {
    const recent = failures.slice(0, index + 1).filter((other) => other.at > at - attemptWindowMillis);
    const ofAddress = recent.filter((other) => other.address === address).length;
    tally.max("most in ten minutes", recent.length);
    if (recent.length > attemptsMax || ofAddress > attemptsPerAddressMax) {
      tally.case(`${recent.length} guesses were evaluated in ten minutes, ${ofAddress} of them from ${address}`);
    }
  }
  return tally.finding();
}
