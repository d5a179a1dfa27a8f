import { once } from "node:events";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { BehaviorSubject, filter, firstValueFrom } from "rxjs";
import { z } from "zod";
import { tool, type Effect, type Intent, type Tool } from "../../domain/approvals/index.js";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

/** How a provider may treat a request. After "commit" the thing has happened, whatever the client is told. */
export type OutletFault =
  | "none"
  | "refuse" // 4xx before anything happens
  | "fail_before" // 5xx, nothing has happened
  | "fail_after" // 5xx, but it has happened
  | "reset_before"
  | "reset_after"
  | "hang_before"
  | "hang_after"
  | "forget" // It happened, and the provider denies it: nobody can ask it.
  | "late"; // Nobody knows of it when they ask first, and then it happens.

/** A request that has not happened by then has happened when it is asked about. */
const lateMillisMax = 3_000;

/** One thing that happened outside. */
export interface LedgerEntry {
  readonly key: string;
  readonly to: string;
  readonly text: string;
}

/** A provider on this machine that keeps a ledger of all that it was made to do, and misbehaves as it is told to. */
export class Outlet {
  readonly ledger: LedgerEntry[] = [];
  /** How many requests came, of any kind. */
  requests = 0;
  readonly #server: Server;
  readonly #questions = new BehaviorSubject(0);
  readonly #forgotten = new Set<string>();
  readonly #late = new Map<string, { readonly commit: () => void; readonly until: number }>();
  #faults: OutletFault[] = [];

  /** Whether it does nothing for a key that it knows. */
  private constructor(private readonly honoursKeys: boolean) {
    this.#server = createServer((request, response) => {
      this.requests += 1;
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async listen({ honoursKeys = false } = {}): Promise<Outlet> {
    const outlet = new Outlet(honoursKeys);
    outlet.#server.listen(0, "127.0.0.1");
    await once(outlet.#server, "listening");
    return outlet;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What the next posts meet, in order; then none. */
  will(...faults: OutletFault[]): void {
    this.#faults.push(...faults);
  }

  /** Resolves when it has answered so many questions about what it did. */
  async asked(count: number): Promise<void> {
    await firstValueFrom(this.#questions.pipe(filter((questions) => questions >= count)));
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const key = new URL(request.url ?? "/", this.url).searchParams.get("key") ?? "";
    const late = this.#late.get(key);
    this.#late.delete(key);
    if (request.method === "GET") {
      const isOverdue = late !== undefined && performance.now() >= late.until;
      if (isOverdue) late.commit();
      if (this.#forgotten.has(key)) response.writeHead(503).end();
      else response.end(JSON.stringify({ done: this.#isDone(key) }));
      if (!isOverdue) late?.commit();
      this.#questions.next(this.#questions.value + 1);
      return;
    }
    late?.commit();
    const { to, text } = z.object({ to: z.string(), text: z.string() }).parse(JSON.parse(await textOf(request)));
    const fault = this.#faults.shift() ?? "none";
    const commit = () => {
      if (!this.honoursKeys || !this.#isDone(key)) this.ledger.push({ key, to, text });
    };
    switch (fault) {
      case "none":
        commit();
        response.end(JSON.stringify({ id: `entry-${this.ledger.length}` }));
        return;
      case "refuse":
        response.writeHead(422).end();
        return;
      case "fail_before":
        response.writeHead(500).end();
        return;
      case "fail_after":
        commit();
        response.writeHead(500).end();
        return;
      case "reset_before":
        response.destroy();
        return;
      case "reset_after":
        commit();
        response.destroy();
        return;
      case "hang_before":
        return;
      case "hang_after":
        commit();
        return;
      case "forget":
        commit();
        this.#forgotten.add(key);
        response.destroy();
        return;
      case "late":
        this.#late.set(key, { commit, until: performance.now() + lateMillisMax });
        response.destroy();
        return;
    }
  }

  #isDone(key: string): boolean {
    return this.ledger.some((entry) => entry.key === key);
  }
}

const postArgs = z.strictObject({ to: z.string().min(1).max(200), text: z.string().max(10_000) });

/** An external WRITE that the outlet performs: it posts a text to somebody. */
export function outletTool(
  url: string,
  options: { readonly undoSeconds?: number; readonly millisMax?: number } = {},
): Tool {
  const { undoSeconds = 0, millisMax = 1_000 } = options;
  return tool({
    name: "outlet_post",
    version: 1,
    description: "Post a text to somebody.",
    args: postArgs,
    risk: RiskClass.WRITE,
    identity: "none",
    kind: "acting",
    destination: "external",
    isResultUntrusted: false,
    undoSeconds,
    describe: ({ to, text }) => ({
      summary: `Post ${text.length} characters to ${to}`,
      target: to,
      recipients: [to],
      urls: [],
      body: text,
    }),
    execute: async (args, intent) => {
      const answer = await ask(
        "POST",
        `${url}/?key=${encodeURIComponent(intent.idempotencyKey)}`,
        args,
        intent,
        millisMax,
      );
      if (answer === null || answer.status >= 500) return { outcome: "unknown", reason: "the outlet did not say" };
      if (answer.status >= 400)
        return { outcome: "not_done", reason: `the outlet said ${answer.status}`, isPassing: false };
      return done(answer.body);
    },
    reconcile: async (args, intent) => {
      const answer = await ask(
        "GET",
        `${url}/?key=${encodeURIComponent(intent.idempotencyKey)}`,
        args,
        intent,
        millisMax,
      );
      if (answer?.status !== 200) return { outcome: "unknown", reason: "the outlet does not say" };
      const { done: isDone } = JSON.parse(answer.body) as { done: boolean };
      return isDone
        ? done(answer.body)
        : { outcome: "not_done", reason: "the outlet knows nothing of it", isPassing: true };
    },
  });
}

function done(body: string): Effect {
  const text = `Posted. ${body}`;
  return {
    outcome: "done",
    result: { text, isTruncated: false, isUntrusted: false, origin: "", hash: Buffer.from(body) },
  };
}

/** null if there is no answer, for whatever reason. */
async function ask(
  method: "GET" | "POST",
  url: string,
  args: z.infer<typeof postArgs>,
  { signal }: Intent,
  millisMax: number,
): Promise<{ readonly status: number; readonly body: string } | null> {
  const request = httpRequest(url, { method, signal, timeout: millisMax });
  request.on("timeout", () => request.destroy());
  try {
    request.end(method === "POST" ? JSON.stringify(args) : undefined);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: await textOf(response) };
  } catch {
    return null; // A timeout or a reset: who knows.
  }
}
