import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { BehaviorSubject, filter, firstValueFrom } from "rxjs";

/** What a test wants to know of a request. */
export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: SeenBody;
}

interface SeenBody {
  readonly model: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[];
  readonly tools?: readonly { readonly function: { readonly name: string; readonly parameters: unknown } }[];
  readonly stream: boolean;
  readonly [option: string]: unknown;
}

/** One request, and what there is to answer it with. */
export interface Exchange {
  readonly request: SeenRequest;
  readonly response: ServerResponse;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly hungUp: Promise<unknown>;
}

/** How one request is answered; the usual ways are below. */
export type Behaviour = (exchange: Exchange) => Promise<void>;

/**
 * A model on this machine that speaks the streamed chat completions over HTTP, and misbehaves as it is told to: each
 * request is answered by the next behaviour, in the order in which they were given.
 */
export class ModelServer {
  /** All that came, in order. */
  readonly requests: SeenRequest[] = [];
  /** How many connections were made, in all. */
  connections = 0;
  readonly #server: Server;
  readonly #arrived = new BehaviorSubject(0);
  readonly #left = new BehaviorSubject(0);
  #behaviours: Behaviour[] = [];
  #otherwise: Behaviour | null = null;

  private constructor() {
    this.#server = createServer((request, response) => {
      // A request that was given up on its way is none.
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", () => (this.connections += 1));
  }

  static async listen(): Promise<ModelServer> {
    const model = new ModelServer();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Adds to what comes next. */
  will(...behaviours: Behaviour[]): void {
    this.#behaviours.push(...behaviours);
  }

  /** What it does whenever it was told nothing else. Without that, it fails. */
  otherwise(behaviour: Behaviour): void {
    this.#otherwise = behaviour;
  }

  /** Resolves when so many requests have come, in all. */
  async asked(count: number): Promise<void> {
    await firstValueFrom(this.#arrived.pipe(filter((arrived) => arrived >= count)));
  }

  /** Resolves when so many responses were given up by the client, or cut by the server, before their end. */
  async abandoned(count: number): Promise<void> {
    await firstValueFrom(this.#left.pipe(filter((left) => left >= count)));
  }

  /** How many there were so far. */
  get cuts(): number {
    return this.#left.value;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const hungUp = new Promise((resolve) => response.once("close", resolve));
    response.once("close", () => {
      if (!response.writableFinished) this.#left.next(this.#left.value + 1);
    });
    const body = JSON.parse(await textOf(incoming)) as SeenBody;
    const request = { path: `${incoming.method} ${incoming.url}`, headers: incoming.headers, body };
    this.requests.push(request);
    const behaviour = this.#behaviours.shift() ?? this.#otherwise ?? unprepared;
    this.#arrived.next(this.#arrived.value + 1);
    await behaviour({ request, response, hungUp });
  }
}

const unprepared: Behaviour = async ({ response }) => {
  response.writeHead(500).end("the test did not say what to answer");
};

/**
 * A piece of a streamed answer: an event, raw bytes, a gate that opens before anything more is sent, or something done
 * with the exchange.
 */
export type Piece = string | Uint8Array | Promise<unknown> | ((exchange: Exchange) => Promise<unknown>);

/** A piece that holds up what comes after it until somebody opens. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

/** Answers with these pieces, each on its way before the next, and then ends. */
export function streams(...pieces: (Piece | readonly Piece[])[]): Behaviour {
  return async (exchange) => {
    const { response } = exchange;
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    for (const piece of pieces.flat()) {
      if (response.destroyed) return;
      if (typeof piece === "function") await piece(exchange);
      else if (piece instanceof Promise) await Promise.race([piece, exchange.hungUp]);
      else await Promise.race([new Promise((sent) => response.write(piece, sent)), exchange.hungUp]);
    }
    response.end();
  };
}

/** A whole answer of text. */
export function says(...words: string[]): Behaviour {
  return streams(text(...words), finish("stop"), usage(), done);
}

/** A whole answer of tool calls. */
export function calls(...wanted: { id: string; name: string; arguments: string }[]): Behaviour {
  return streams(
    wanted.map((call, index) => toolCall({ index, ...call })),
    finish("tool_calls"),
    usage(),
    done,
  );
}

/** Does not answer but fails; the body is sent as it is, or as an error of the usual shape. */
export function fails(status: number, headers: Record<string, string> = {}, body: unknown = null): Behaviour {
  return async ({ response }) => {
    const error = { error: { code: status, message: `no luck (${status})` } };
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body ?? error));
  };
}

export const hangsBeforeHead: Behaviour = async ({ hungUp }) => {
  await hungUp;
};

export const resetsBeforeHead: Behaviour = async ({ response }) => {
  response.socket?.resetAndDestroy();
};

export function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

/** An event with a delta of whatever shape, and perhaps the reason for which it is the last. */
export function delta(fields: Record<string, unknown>, finishReason: string | null = null): string {
  const choice = { index: 0, delta: fields, finish_reason: finishReason };
  return event({ id: "gen-1", object: "chat.completion.chunk", choices: [choice] });
}

export function text(...pieces: string[]): string[] {
  return pieces.map((content) => delta({ role: "assistant", content }));
}

/** As OpenRouter sends it; DeepSeek calls it "reasoning_content". */
export function thinking(...pieces: string[]): string[] {
  return pieces.map((reasoning) => delta({ role: "assistant", content: "", reasoning }));
}

/** A tool call, or a piece of one. */
export function toolCall(piece: { index?: number; id?: string; name?: string; arguments?: string }): string {
  const { index, id, name, arguments: args } = piece;
  return delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: args } }] });
}

export function finish(reason: string): string {
  return delta({}, reason);
}

export function usage(reported: unknown = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }): string {
  return event({ id: "gen-1", object: "chat.completion.chunk", choices: [], usage: reported });
}

export const done = "data: [DONE]\n\n";

/** Sends nothing more until the client has had enough. */
export async function hang({ hungUp }: Exchange): Promise<void> {
  await hungUp;
}

export async function reset({ response }: Exchange): Promise<void> {
  response.socket?.resetAndDestroy();
}

/** Says something again and again until the client has had enough. */
export function drip(piece: string): (exchange: Exchange) => Promise<void> {
  return async ({ response, hungUp }) => {
    const timer = setInterval(() => response.write(piece), 1);
    await hungUp;
    clearInterval(timer);
  };
}
