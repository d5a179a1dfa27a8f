import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { readFileSync } from "node:fs";
import { Agent } from "node:https";
import { connect } from "node:net";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { bearer, unissuedToken } from "../infra/rpc/bad-tokens.js";
import { codeIn } from "../infra/rpc/hostile-answer.js";
import { hostileRequests } from "../infra/rpc/hostile-requests.js";
import { packagePath, RawConnection } from "../infra/rpc/raw.js";
import { randomFrom, type Random } from "../support/random.js";
import { bearing, networkTransport } from "../support/server.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { serveChild, type ServedChild } from "./stop-graceful-server.js";
import { Tally } from "./tally.js";

const attackers = 4;
const growthMegabytesMax = 200;

export const rpcHostile: Proof = {
  name: "rpc.hostile",
  promise: "no input brings the process down",
  sizes: { small: 400, full: 20_000 },
  run: checkAttacks,
  control: null,
};

/** Attackers send what no honest client sends, while an honest one works on; all of it to one real process. */
const checkAttacksIn = async (path: string, n: number, seed: number, tally: Tally): Promise<void> => {
  const child = await serveChild(path);
  const before = residentMegabytes(child);
  const attacks = Array.from({ length: n }, (_, index) => index).values();
  const attack = async () => {
    let connection = new RawConnection(child.url);
    for (const index of attacks) {
      if (!connection.isOpen) connection = new RawConnection(child.url);
      tally.case(await attackOnce(child, connection, randomFrom(seed * 100_000 + index)));
    }
    connection.close();
  };
  const attacking = Promise.all(Array.from({ length: attackers }, attack));
  const latencies = await workUntil(attacking, child);
  await attacking;

  tally.add("honest calls", latencies.length);
  tally.max("honest p99 ms", Math.round(latencies.sort((a, b) => a - b)[Math.floor(latencies.length * 0.99)] ?? 0));
  const grown = Math.round(residentMegabytes(child) - before);
  tally.max("MB grown", grown);
  if (grown > growthMegabytesMax) tally.case(`its memory has grown by ${grown} MB`);
  const streams = await openStreams(child);
  if (streams !== 0) tally.case(`${streams} streams were left open`);
  if (child.lines.length > 0) tally.case(`it said ${child.lines[0]}`);
  tally.add("crashes", child.hasEnded ? 1 : 0);
  if (child.hasEnded) tally.case(`it crashed: ${child.lines.join(" ")}`);
  child.signal("SIGTERM");
  if ((await child.ended) !== 0) tally.case("it did not end in peace");
};

async function checkAttacks(...[n, seed, onProgress]: Parameters<Check>): ReturnType<Check> {
  const tally = new Tally(onProgress);
  await withDirectory((path) => checkAttacksIn(path, n, seed, tally));
  return tally.finding();
}

/** How the server broke its promise, or null. */
async function attackOnce(child: ServedChild, connection: RawConnection, random: Random): Promise<string | null> {
  const { what, headers, body, answers } = random.pick(hostileRequests);
  const authorized = { ...headers, ...bearer(child.token) };
  switch (random.below(6)) {
    case 0: {
      const path = `${packagePath}.ThreadsService/ListThreads`;
      const stranger = bearer(unissuedToken(random.below(2 ** 30)));
      const answer = codeIn(
        await connection.send({ ":path": path, "content-type": "application/json", ...stranger }, "{}"),
      );
      return answer === "unauthenticated" ? null : `an unknown token was answered with ${answer}`;
    }
    case 1: {
      // Begun, and left in the middle.
      const stream = connection.open(authorized);
      stream.write(Buffer.from(body as string).subarray(0, random.below(100)));
      stream.close(random.pick([0, 1, 2, 8]));
      return null;
    }
    case 2: {
      // No message begins like that: a byte or two of any noise may well be one.
      const start = random.pick([0x06, 0x07, 0x0e, 0x0f]);
      const noise = Buffer.from([start, ...Array.from({ length: random.below(300) }, () => random.below(256))]);
      const answer = codeIn(await connection.send(authorized, noise));
      return answer === "ok" ? `noise was answered with ok` : null;
    }
    case 3: {
      const socket = connect(Number(new URL(child.url).port), "127.0.0.1");
      socket.on("error", () => undefined);
      const closed = new Promise((resolve) => socket.once("close", resolve));
      socket.end(Buffer.from(Array.from({ length: random.below(300) }, () => random.below(256))));
      socket.resume();
      await closed;
      return null;
    }
    default: {
      const answer = codeIn(await connection.send(authorized, body));
      return answers.includes(answer) || answer === "reset" ? null : `${what} was answered with ${answer}`;
    }
  }
}

/** An honest client, and another that speaks HTTP/1.1 on one connection, until the attack is over; how long it waited each time. */
async function workUntil(over: Promise<unknown>, child: ServedChild): Promise<number[]> {
  const threads = createClient(ThreadsService, networkTransport(child.url, child.token));
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  const old = createClient(
    ThreadsService,
    createConnectTransport({
      baseUrl: child.url,
      httpVersion: "1.1",
      nodeOptions: { agent },
      interceptors: [bearing(child.token)],
    }),
  );
  const latencies: number[] = [];
  const attack = { isOver: false };
  const end = () => (attack.isOver = true);
  over.then(end, end);
  const work = async () => {
    while (!attack.isOver) {
      const asked = performance.now();
      await threads.listThreads({ pageSize: 20 });
      latencies.push(performance.now() - asked);
    }
  };
  const workSlowly = async () => {
    while (!attack.isOver) await old.listThreads({ pageSize: 1 });
  };
  await Promise.all([work(), workSlowly()]);
  agent.destroy();
  await threads.createThread({});
  return latencies;
}

async function openStreams(child: ServedChild): Promise<number> {
  const connection = new RawConnection(child.url);
  const { body } = await connection.send({ ":method": "GET", ":path": "/metrics" });
  connection.close();
  return Number(/^pincer_open_streams (\d+)$/m.exec(body.toString())?.[1]);
}

function residentMegabytes({ pid }: ServedChild): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1_024;
  } catch {
    return 0; // No /proc on this system.
  }
}
