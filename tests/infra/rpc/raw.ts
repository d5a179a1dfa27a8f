import { connect, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from "node:http2";
import { buffer } from "node:stream/consumers";

export const packagePath = "/pincer.protocol.v1";

/** What came back, byte by byte. */
export interface RawAnswer {
  /** 0 if the stream was reset before it was answered. */
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly trailers: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
  readonly resetCode: number;
}

/** An HTTP/2 connection that sends whatever it is told to. */
export class RawConnection {
  readonly #session: ClientHttp2Session;

  constructor(url: string) {
    this.#session = connect(url, { rejectUnauthorized: false });
    this.#session.on("error", () => undefined);
  }

  get isOpen(): boolean {
    return !this.#session.closed && !this.#session.destroyed;
  }

  /** Opens a call and leaves its body to the caller. */
  open(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    const stream = this.#session.request({ ":method": "POST", ...headers }, { endStream: false });
    stream.on("error", () => undefined);
    return stream;
  }

  async send(headers: OutgoingHttpHeaders, body: Uint8Array | string = ""): Promise<RawAnswer> {
    const stream = this.open(headers);
    stream.end(body);
    return readAnswer(stream);
  }

  close(): void {
    this.#session.destroy();
  }
}

export async function readAnswer(stream: ClientHttp2Stream): Promise<RawAnswer> {
  let headers: Record<string, unknown> = {};
  let trailers: Record<string, unknown> = {};
  stream.once("response", (received) => void (headers = received));
  stream.once("trailers", (received: Record<string, unknown>) => void (trailers = received));
  const closed = new Promise<void>((resolve) => {
    if (stream.closed && stream.destroyed) resolve();
    else stream.once("close", resolve);
  });
  const body = await buffer(stream).catch(() => Buffer.alloc(0));
  await closed;
  return { status: Number(headers[":status"] ?? 0), headers, trailers, body, resetCode: stream.rstCode };
}

/** What a JSON answer, or the last frame of a Connect stream, says went wrong. */
export function errorIn({ body }: RawAnswer): { code?: string; message?: string } {
  const text = body.toString("utf8");
  const parsed = JSON.parse(text.slice(Math.max(0, text.indexOf("{")))) as { error?: object; code?: string };
  return parsed.error ?? parsed;
}
