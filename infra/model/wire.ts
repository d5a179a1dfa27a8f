import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { setImmediate } from "node:timers/promises";
import { ModelError } from "../../commands/ports/model.js";
import type { Call } from "./call.js";
import { EventStream } from "./event-stream.js";
import { wordsIn } from "./failures.js";

/** Of the body of a failure. */
const failureBytesMax = 64 * 1024;
/** How long a failure, which is known by its status, may take to say more. */
const failureMillisMax = 1_000;
/** Of the events that the openai package gets at a time. */
const portionBytes = 4 * 1024;
/** After the last event the server has so long to end its response; then the connection is closed, not kept. */
const lingerMillisMax = 1_000;

/** What the openai package needs of `fetch`. */
type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * The way to a provider. Node's own `fetch` does not say when it is connected, has timeouts of its own, follows
 * redirects, and unpacks what it is sent; this does none of that. The key is put on here, so the openai package never
 * has it and cannot show it.
 */
export function wireWith(apiKey: string): (call: Call) => Fetch {
  const http = { start: httpRequest, agent: new HttpAgent({ keepAlive: true }), connected: "connect" };
  const https = { start: httpsRequest, agent: new HttpsAgent({ keepAlive: true }), connected: "secureConnect" };

  return (call) => async (target, init) => {
    const url = new URL(target instanceof Request ? target.url : target);
    const body = typeof init?.body === "string" ? init.body : "";
    const response = await send(call, url.protocol === "https:" ? https : http, url, body, headersFor(apiKey));
    const { statusCode: status = 0, headers } = response;
    if (status !== 200) {
      call.stopClocks();
      throw call.fail(call.failures.ofStatus(status, wordsIn(await failureBody(response)), headers));
    }
    return new Response(streamOf(eventsOf(response, call)), { status });
  };
}

function headersFor(apiKey: string): OutgoingHttpHeaders {
  return {
    accept: "text/event-stream",
    "accept-encoding": "identity",
    "content-type": "application/json",
    "user-agent": "pincer",
    ...(apiKey === "" ? {} : { authorization: `Bearer ${apiKey}` }),
  };
}

interface Transport {
  readonly start: typeof httpsRequest;
  readonly agent: HttpAgent;
  /** What a new socket says when it can be written to. */
  readonly connected: string;
}

/** Resolves with the head of the response. The connection closes when the call is aborted, now or later. */
async function send(
  call: Call,
  { start, agent, connected }: Transport,
  url: URL,
  body: string,
  headers: OutgoingHttpHeaders,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let hasBegun = false;
    const giveUp = (error: Error) => {
      call.fail(call.failures.ofConnection(error, hasBegun));
      reject(error);
    };
    call.expect("connect");
    try {
      const request = start(url, { agent, method: "POST", headers });
      const hangUp = () => request.destroy();
      call.signal.addEventListener("abort", hangUp, { once: true });
      request.once("close", () => call.signal.removeEventListener("abort", hangUp));
      request.once("socket", (socket) => {
        if (request.reusedSocket) call.expect("firstByte");
        else socket.once(connected, () => call.expect("firstByte"));
      });
      request.once("response", (response) => {
        hasBegun = true;
        call.expect("idle");
        response.on("error", () => undefined); // Whoever reads it is told; afterwards nobody has to know.
        resolve(response);
      });
      request.on("error", giveUp);
      request.end(body);
    } catch (error) {
      giveUp(error as Error);
    }
  });
}

/** What a failure says for itself, as far as it comes in time. */
async function failureBody(response: IncomingMessage): Promise<string> {
  const timer = setTimeout(() => response.destroy(), failureMillisMax);
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes > failureBytesMax) break;
    }
  } catch {
    // The status says enough.
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(pieces).toString("utf8");
}

/** The whole events of an answer, until the last one or until the server hangs up. */
async function* eventsOf(response: IncomingMessage, call: Call): AsyncGenerator<Uint8Array, void> {
  const events = new EventStream(call.failures);
  try {
    for await (const bytes of response.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      call.expect("idle");
      for (const some of inPortions(events.take(bytes))) {
        yield some;
        await setImmediate(); // Others have their turn, also if many events have come at once.
      }
      if (events.isDone) return;
      await setImmediate();
    }
    events.end();
  } catch (error) {
    throw call.fail(error instanceof ModelError ? error : call.failures.ofConnection(error as Error, true));
  } finally {
    if (events.isDone) linger(response);
    else response.destroy(); // Does nothing to one that has ended: its connection is kept.
  }
}

/** Events that are handed on together: so many that it costs little, and so few that their number squared is not much. */
function* inPortions(events: readonly Uint8Array[]): Generator<Uint8Array, void> {
  let portion: Uint8Array[] = [];
  let bytes = 0;
  for (const event of events) {
    portion.push(event);
    bytes += event.length;
    if (bytes < portionBytes) continue;
    yield Buffer.concat(portion);
    [portion, bytes] = [[], 0];
  }
  if (portion.length > 0) yield Buffer.concat(portion);
}

function linger(response: IncomingMessage): void {
  const timer = setTimeout(() => response.destroy(), lingerMillisMax).unref();
  response.once("close", () => clearTimeout(timer));
  response.resume();
}

function streamOf(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: async () => {
        await pieces.return();
      },
    },
    // Nothing is read ahead: a reader that leaves does not wait for a piece that never comes.
    { highWaterMark: 0 },
  );
}
