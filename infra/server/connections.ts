import { once } from "node:events";
import { createServer as createHttp1Server, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { Http2ServerRequest, Http2ServerResponse, Http2Session, ServerHttp2Session } from "node:http2";
import type { AddressInfo, Server, Socket } from "node:net";
import type { Logger } from "pino";
import {
  hasTooLongHeaders,
  http1Options,
  http2Options,
  limitSession,
  type LimitedSession,
  type Limits,
} from "./limits.js";

/** Answers a request, whichever protocol it came by. `hangUp` ends its whole connection, whatever is still to leave. */
export type Handler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  hangUp: () => void,
) => void;

/** What every listener serves, and how much of it. */
export interface Serving {
  readonly handler: Handler;
  readonly limits: Limits;
  readonly logger: Logger;
}

export interface Listener {
  /** Where it listens; the port is the one it got, if it asked for any. */
  readonly url: string;
  /**
   * Accepts nobody anymore, says goodbye to whoever is connected and lets go of the idle at once. Requests in flight
   * have this long to finish; then whatever is left is cut off, so that this always resolves.
   */
  close(graceMillis: number): Promise<void>;
}

/** With this a client that speaks HTTP/2 begins, and no other. */
const http2Preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** The connections of one listener, from their acceptance to their end, and the protocols that they speak. */
export class Connections implements Listener {
  readonly #accepted = new Set<Socket>();
  readonly #opening = new Set<Socket>();
  readonly #responses = new Map<Socket, Set<ServerResponse>>();
  readonly #sessions = new Set<LimitedSession>();
  /** Node keeps the sockets of HTTP/2 to itself, and does not close one that takes nothing more. */
  readonly #sockets = new WeakMap<Http2Session, Socket>();
  readonly #http1;
  readonly #http2;
  #isLeaving = false;
  #closed: Promise<void> | null = null;
  url = "";

  constructor(
    private readonly front: Server,
    private readonly serving: Serving,
  ) {
    const { limits } = serving;
    this.#http1 = createHttp1Server(http1Options(limits), (request, response) => {
      this.#follow(request.socket, response);
      this.#answer(request, response, request.socket);
    });
    const socketOf = ({ stream: { session } }: Http2ServerRequest) => session && this.#sockets.get(session);
    this.#http2 = createHttp2Server(http2Options(limits), (request, response) => {
      if (hasTooLongHeaders(request, limits)) response.writeHead(431).end();
      else this.#answer(request, response, socketOf(request));
    });
    this.#http2.on("sessionError", (error) => this.note(error, "an HTTP/2 session failed"));
    front.maxConnections = limits.connectionsMax;
    front.on("connection", (socket) => {
      this.#accepted.add(socket);
      socket.once("close", () => this.#accepted.delete(socket));
      socket.on("error", (error) => this.note(error, "a connection failed"));
    });
    front.on("drop", () => this.note(null, "a connection was refused: there are too many"));
  }

  async listen(scheme: string, start: () => void): Promise<Listener> {
    start();
    await once(this.front, "listening");
    // The clock for slow HTTP/1.1 requests starts with this event, and that server never listens itself.
    this.#http1.emit("listening");
    // From now on it means that somebody could not be accepted.
    this.front.on("error", (error) => this.serving.logger.warn({ code: codeOf(error) }, "cannot accept connections"));
    this.url = urlOf(scheme, this.front.address()!);
    return this;
  }

  /** Destroys the connection unless what is returned is called in time. */
  expectOpening(socket: Socket): () => void {
    const timer = setTimeout(() => {
      this.note(null, "a connection did not open in time");
      socket.destroy();
    }, this.serving.limits.handshakeMillisMax);
    const end = () => {
      clearTimeout(timer);
      this.#opening.delete(socket);
    };
    this.#opening.add(socket);
    socket.once("close", end);
    return end;
  }

  /** Reads no more than it takes to tell the two protocols apart, and puts it back. */
  discern(socket: Socket): void {
    const opened = this.expectOpening(socket);
    let head = Buffer.alloc(0);
    const read = (chunk: Buffer) => {
      head = Buffer.concat([head, chunk]);
      const known = Math.min(head.length, http2Preface.length);
      const isHttp2 = head.subarray(0, known).equals(http2Preface.subarray(0, known));
      if (isHttp2 && known < http2Preface.length) return;
      opened();
      socket.off("data", read);
      socket.pause();
      socket.unshift(head);
      if (isHttp2) {
        this.speakHttp2(socket);
      } else {
        this.speakHttp1(socket);
        socket.resume();
      }
    };
    socket.on("data", read);
  }

  /** Node answers a bad request by itself, with 400, 408 or 431, and then destroys the socket with the reason. */
  speakHttp1(socket: Socket): void {
    this.#responses.set(socket, new Set());
    socket.once("close", () => this.#responses.delete(socket));
    socket.on("error", (error) => this.note(error, "an HTTP/1.1 connection failed"));
    this.#http1.emit("connection", socket);
  }

  speakHttp2(socket: Socket): void {
    if (socket.destroyed) return;
    socket.on("error", (error) => this.note(error, "an HTTP/2 connection failed"));
    this.#http2.once("session", (session) => this.#keep(session, socket));
    this.#http2.emit("connection", socket);
  }

  close(graceMillis: number): Promise<void> {
    return (this.#closed ??= this.#close(graceMillis));
  }

  async #close(graceMillis: number): Promise<void> {
    this.#isLeaving = true;
    const closed = new Promise((resolve) => this.front.close(resolve));
    for (const socket of this.#opening) socket.destroy();
    for (const [socket, responses] of this.#responses) {
      if (responses.size === 0) socket.destroySoon();
      for (const response of responses) if (!response.headersSent) response.setHeader("connection", "close");
    }
    for (const session of this.#sessions) session.leave();
    const deadline = setTimeout(() => {
      for (const session of this.#sessions) session.cutOff();
      // What that has to say to the clients leaves first.
      setImmediate(() => this.#accepted.forEach((socket) => socket.destroy()));
    }, graceMillis);
    await closed;
    clearTimeout(deadline);
    this.#http1.close();
  }

  /** Errors of peers are theirs: one may look, nobody need act. What they sent stays out of it. */
  note(error: Error | null, what: string): void {
    this.serving.logger.debug({ url: this.url, code: codeOf(error) }, what);
  }

  #answer(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    socket: Socket | undefined,
  ): void {
    try {
      this.serving.handler(request, response, () => socket?.destroy());
    } catch (error) {
      this.serving.logger.error({ error: String(error) }, "a request could not be handled");
      if (response.headersSent) return void response.destroy();
      response.statusCode = 500;
      (response as ServerResponse).end();
    }
  }

  #keep(session: ServerHttp2Session, socket: Socket): void {
    const limited = limitSession(session, socket, this.serving.limits, (error, what) => this.note(error, what));
    this.#sessions.add(limited);
    this.#sockets.set(session, socket);
    session.once("close", () => this.#sessions.delete(limited));
  }

  #follow(socket: Socket, response: ServerResponse): void {
    const responses = this.#responses.get(socket);
    if (responses === undefined) return; // Its client is gone already.
    responses.add(response);
    if (this.#isLeaving) response.setHeader("connection", "close");
    response.once("close", () => {
      responses.delete(response);
      if (this.#isLeaving && responses.size === 0) socket.destroySoon();
    });
  }
}

function urlOf(scheme: string, bound: string | AddressInfo): string {
  if (typeof bound === "string") return `${scheme}:${bound}`;
  return `${scheme}://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}
