import { constants, type Http2ServerRequest, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";

/** What a stranger may take of us before anybody has asked who he is. */
export interface Limits {
  /** Of all headers of one request. */
  readonly headerBytesMax: number;
  readonly connectionsMax: number;
  /** Per connection. */
  readonly concurrentStreamsMax: number;
  /** From connecting until the client has finished the TLS handshake, has shown its protocol, has sent its settings. */
  readonly handshakeMillisMax: number;
  /** From the first byte of an HTTP/1.1 request to the end of its headers. */
  readonly requestHeadMillisMax: number;
  /** From the first byte of an HTTP/1.1 request to the end of its body. The answer may take any time. */
  readonly requestMillisMax: number;
  /** How long a connection may stay open without a request. Pings do not count. */
  readonly idleConnectionMillisMax: number;
  /** After this long without a packet the kernel asks the peer whether it is still there. */
  readonly silentPeerMillisMax: number;
  readonly sessionMemoryMegabytesMax: number;
  /** Resets of streams, by either side, that one HTTP/2 session may cause; an app that closes resets all it has open. */
  readonly streamResetsPerSecondMax: number;
  /** The same where Node's own HTTP/2 does the counting: so many at once, and so many a second after that. */
  readonly streamResetBurstMax: number;
  readonly streamResetBurstRefillPerSecond: number;
  readonly invalidFramesMax: number;
  /** Streams that we refused, because there were too many, before we hang up. */
  readonly rejectedStreamsMax: number;
}

export const defaultLimits: Limits = {
  headerBytesMax: 16 * 1024,
  connectionsMax: 1_000,
  concurrentStreamsMax: 200,
  handshakeMillisMax: 10_000,
  requestHeadMillisMax: 10_000,
  requestMillisMax: 60_000,
  idleConnectionMillisMax: 5 * 60_000,
  silentPeerMillisMax: 60_000,
  sessionMemoryMegabytesMax: 10,
  streamResetsPerSecondMax: 400,
  streamResetBurstMax: 1_000,
  streamResetBurstRefillPerSecond: 33,
  invalidFramesMax: 100,
  rejectedStreamsMax: 100,
};

/** A small answer leaves at once, and a phone that has vanished is noticed. */
export function socketOptions(limits: Limits) {
  return { noDelay: true, keepAlive: true, keepAliveInitialDelay: limits.silentPeerMillisMax };
}

export function http1Options(limits: Limits) {
  return {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: limits.requestHeadMillisMax,
    requestTimeout: limits.requestMillisMax,
    keepAliveTimeout: limits.idleConnectionMillisMax,
    // How often Node looks for requests that are late; they may take that much longer.
    connectionsCheckingInterval: Math.ceil(limits.requestHeadMillisMax / 10),
  };
}

export function http2Options(limits: Limits) {
  return {
    maxSessionMemory: limits.sessionMemoryMegabytesMax,
    maxSessionInvalidFrames: limits.invalidFramesMax,
    maxSessionRejectedStreams: limits.rejectedStreamsMax,
    streamResetBurst: limits.streamResetBurstMax,
    streamResetRate: limits.streamResetBurstRefillPerSecond,
    settings: {
      enablePush: false,
      maxConcurrentStreams: limits.concurrentStreamsMax,
      maxHeaderListSize: limits.headerBytesMax,
    },
  };
}

/**
 * Node holds HTTP/2 to the limit on headers only after the client has confirmed our settings, and some never do. Each
 * header counts 32 bytes more, as RFC 9113 has it.
 */
export function hasTooLongHeaders({ rawHeaders }: Http2ServerRequest, limits: Limits): boolean {
  const bytes = rawHeaders.reduce((sum, text) => sum + text.length + 16, 0);
  return bytes > limits.headerBytesMax;
}

/** A session, and the two ways to end it. */
export interface LimitedSession {
  /** Says goodbye, and waits for the streams in flight. */
  leave(): void;
  /** Resets the streams in flight: a client may take one that merely ends for complete. */
  cutOff(): void;
}

/**
 * Holds an HTTP/2 session to the limits that Node does not know: a client that never speaks, one that rests for too
 * long, one that opens streams only to reset them.
 */
export function limitSession(
  session: ServerHttp2Session,
  socket: Socket,
  limits: Limits,
  note: (error: Error | null, what: string) => void,
): LimitedSession {
  const isOneTooMany = countPerSecond(limits.streamResetsPerSecondMax);
  const streams = new Set<ServerHttp2Stream>();
  const leave = () => {
    // With nothing in flight there is no need to wait until the client, too, hangs up.
    if (streams.size === 0) socket.once("finish", () => socket.destroy());
    session.close();
  };

  let timer = setTimeout(() => socket.destroy(), limits.handshakeMillisMax);
  const rest = () => {
    clearTimeout(timer);
    if (streams.size === 0 && !session.destroyed) timer = setTimeout(leave, limits.idleConnectionMillisMax);
  };
  session.once("remoteSettings", rest);
  session.once("close", () => clearTimeout(timer));

  session.on("stream", (stream) => {
    streams.add(stream);
    clearTimeout(timer);
    stream.on("error", (error) => note(error, "an HTTP/2 stream failed"));
    stream.once("close", () => {
      streams.delete(stream);
      rest();
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR || session.destroyed || !isOneTooMany()) return;
      note(null, "an HTTP/2 session was ended: it resets too many streams");
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    });
  });
  return {
    leave,
    cutOff: () => {
      for (const stream of streams) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    },
  };
}

/** Counts calls; true once there were more than so many in one second. */
function countPerSecond(max: number): () => boolean {
  let since = performance.now();
  let count = 0;
  return () => {
    const now = performance.now();
    if (now - since >= 1_000) {
      since = now;
      count = 0;
    }
    count += 1;
    return count > max;
  };
}
