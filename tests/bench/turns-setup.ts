import { createClient, type Client } from "@connectrpc/connect";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { EventsService } from "../../proto/gen/pincer/protocol/v1/events_pb.js";
import { SystemService } from "../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { networkTransport } from "../support/server.js";
import { metricsOf } from "./metrics-of.js";
import type { ModelPlace, TurnsPlace } from "./turns-plan.js";

/** A client of each service, all on one connection. */
export interface Clients {
  readonly threads: Client<typeof ThreadsService>;
  readonly turns: Client<typeof TurnsService>;
  readonly events: Client<typeof EventsService>;
  readonly system: Client<typeof SystemService>;
}

interface Served {
  readonly clients: Clients;
  /** Of the model. */
  readonly baseUrl: string;
  /** How many transactions the log has made so far. */
  readonly commits: () => Promise<number>;
}

/** Works with a server and its model, each in a process of its own. */
export async function withServer<T>(directory: string, work: (served: Served) => Promise<T>): Promise<T> {
  const model = await startProgram<ModelPlace>("turns-model-child.js");
  try {
    const { baseUrl } = model.place;
    const server = await startProgram<TurnsPlace>("turns-child.js", directory, baseUrl);
    try {
      const { url, token } = server.place;
      return await work({ clients: clientsOf(url, token), baseUrl, commits: () => commitsOf(url) });
    } finally {
      await server.stop();
    }
  } finally {
    await model.stop();
  }
}

function clientsOf(url: string, token: string): Clients {
  const transport = networkTransport(url, token);
  return {
    threads: createClient(ThreadsService, transport),
    turns: createClient(TurnsService, transport),
    events: createClient(EventsService, transport),
    system: createClient(SystemService, transport),
  };
}

async function commitsOf(url: string): Promise<number> {
  return Number(/^pincer_append_group_size_count (\d+)$/m.exec(await metricsOf(url))?.[1]);
}

interface Program<Place> {
  readonly place: Place;
  stop(): Promise<void>;
}

/** Starts one of the programs beside this file, and reads where it is. */
async function startProgram<Place>(program: string, ...args: string[]): Promise<Program<Place>> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(program, import.meta.url)), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const kill = () => child.kill();
  process.once("exit", kill);
  const closed = once(child, "close");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const place = JSON.parse(String((await lines.next()).value)) as Place;
  return {
    place,
    stop: async () => {
      child.stdin.end();
      await closed;
      process.off("exit", kill);
    },
  };
}
