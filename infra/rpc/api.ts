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
/** Node's timers count no further: a longer timeout would end the call at once. */
const timeoutMillisMax = 2 ** 31 - 1;

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** Answers a call; false if the path is none of ours. */
export type RpcHandler = (request: Request, response: Response, isOperator: boolean) => boolean;

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
    maxTimeoutMs: timeoutMillisMax,
    acceptCompression: [compressionGzip],
  });
  addServices(router);
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response, isOperator) => {
    const handler = handlers.get(request.url?.split("?", 1)[0] ?? "");
    if (handler === undefined) return false;
    cutOffWhenStalled(request);
    leaveUnread(request);
    answer(handler, request, response, isOperator).catch((error: unknown) => {
      // The client has gone, or is not speaking HTTP as it should. What goes wrong inside is reported elsewhere.
      logger.debug({ path: request.url, error: String(error) }, "a call was not answered to the end");
      if (!response.headersSent) response.writeHead(400);
      response.end();
    });
    return true;
  };
}

async function answer(
  handler: UniversalHandler,
  request: Request,
  response: Response,
  isOperator: boolean,
): Promise<void> {
  const values = createContextValues().set(peerKey, peerOf(request, isOperator));
  const universal = universalRequestFromNodeRequest(request, response, undefined, values);
  const answered = await handler(universal);
  const isStream = handler.method.methodKind === "server_streaming";
  const body = answered.body !== undefined && isStream ? { body: coalesced(answered.body) } : {};
  await universalResponseToNodeResponse({ ...answered, ...body }, response);
}

function peerOf(request: Request, isOperator: boolean): Peer {
  return {
    isOperator,
    address: request.socket.remoteAddress ?? "",
    cutOff: () => {
      if ("stream" in request) request.stream.close(constants.NGHTTP2_CANCEL);
      else request.socket.destroy();
    },
  };
}

function cutOffWhenStalled(request: Request): void {
  if ("stream" in request) {
    request.stream.setTimeout(stalledMillisMax, () => {
      request.stream.close(constants.NGHTTP2_CANCEL);
    });
  } else {
    // Node destroys it then. A listener of ours would stay with the connection, one more for each call.
    request.socket.setTimeout(stalledMillisMax);
  }
}

/** Who is answered before it has sent everything would wait for us to read on. HTTP/1.1 takes care of it by itself. */
function leaveUnread(request: Request): void {
  if (!("stream" in request)) return;
  const { stream } = request;
  stream.once("finish", () => {
    if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}
