import { createConnectRouter, createContextValues, type ConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from "@connectrpc/connect-node";
import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { Logger } from "pino";
import { peerKey, type Peer } from "./caller.js";
import { coalesced } from "./coalesce.js";

/** Of one message, also after it was decompressed. */
export const requestBytesMax = 1024 * 1024;
const responseBytesMax = 16 * 1024 * 1024;
const compressBytesMin = 1024;
/** A client that neither sends what it announced nor takes what it asked for; streams speak every fifteen seconds. */
const stalledMillisMax = 2 * 60_000;
/** How long a stream's end may take to leave. */
const resetMillisMax = 20;
/** Node's timers count no further. */
const timerMillisMax = 2 ** 31 - 1;
const grpcMillis: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** Answers a call; false if the path is none of ours. */
export type RpcHandler = (
  request: Request,
  response: Response,
  connection: { readonly isOperator: boolean; readonly hangUp: () => void },
) => boolean;

type RouterOptions = NonNullable<Parameters<typeof createConnectRouter>[0]>;

/** The services as they are reached over HTTP: Connect, gRPC and gRPC-web, binary and JSON. */
export function createRpcHandler(
  interceptors: NonNullable<RouterOptions["interceptors"]>,
  addServices: (router: ConnectRouter) => void,
  logger: Logger,
): RpcHandler {
  const router = createConnectRouter({
    interceptors,
    readMaxBytes: requestBytesMax,
    writeMaxBytes: responseBytesMax,
    compressMinBytes: compressBytesMin,
    acceptCompression: [compressionGzip],
  });
  addServices(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response, { isOperator, hangUp }) => {
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (handler === undefined) return false;
    const peer = { isOperator, address: request.socket.remoteAddress ?? "", cutOff: cutterOf(request, hangUp) };
    cutOffWhenStalled(request, peer);
    dropUnread(request);
    answer(handler, request, response, peer).catch((error: unknown) => {
      // The client has gone, or is not speaking HTTP as it should. What goes wrong inside is reported elsewhere.
      logger.debug({ path: request.url, error: String(error) }, "a call was not answered to the end");
      if (!response.headersSent) response.writeHead(400);
      response.end();
    });
    return true;
  };
}

async function answer(handler: UniversalHandler, request: Request, response: Response, peer: Peer): Promise<void> {
  const values = createContextValues().set(peerKey, peer);
  const universal = universalRequestFromNodeRequest(request, response, undefined, values);
  dropEndlessTimeouts(universal.header);
  const answered = await handler(universal);
  const isStream = handler.method.methodKind === "server_streaming";
  const body = answered.body !== undefined && isStream ? { body: coalesced(answered.body) } : {};
  await universalResponseToNodeResponse({ ...answered, ...body }, response);
}

/** A timeout that no timer can count is as good as none. Node would warn, and end the call at once. */
function dropEndlessTimeouts(header: Headers): void {
  const [, amount = "", unit = ""] = /^(\d+)([HMSmun])$/.exec(header.get("grpc-timeout") ?? "") ?? [];
  if (Number(amount) * (grpcMillis[unit] ?? 0) > timerMillisMax) header.delete("grpc-timeout");
  if (Number(header.get("connect-timeout-ms")) > timerMillisMax) header.delete("connect-timeout-ms");
}

/** Ends an exchange. Where not even that leaves, because the client has stopped reading altogether, it hangs up. */
function cutterOf(request: Request, hangUp: () => void): () => void {
  return () => {
    if (!("stream" in request)) {
      hangUp();
      return;
    }
    const { stream } = request;
    stream.close(constants.NGHTTP2_CANCEL);
    setTimeout(() => {
      if (!stream.destroyed) hangUp();
    }, resetMillisMax).unref();
  };
}

function cutOffWhenStalled(request: Request, peer: Peer): void {
  if ("stream" in request) {
    request.stream.setTimeout(stalledMillisMax, () => {
      peer.cutOff();
    });
  } else {
    // Node destroys it then. A listener of ours would stay with the connection, one more for each call.
    request.socket.setTimeout(stalledMillisMax);
  }
}

/**
 * Who is answered before it has sent everything would wait for us to read on: so what still comes is read, and dropped.
 * HTTP/1.1 takes care of it by itself.
 */
function dropUnread(request: Request): void {
  if (!("stream" in request)) return;
  const { stream } = request;
  stream.once("finish", () => {
    stream.removeAllListeners("data").resume();
  });
}
