import type { DescMethod, DescMethodStreaming, DescMethodUnary } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import type { SecureClientSessionOptions } from "node:http2";
import { RefusalDetailSchema } from "../../../proto/gen/pincer/protocol/v1/errors_pb.js";

/** One connection, and every protocol that the server speaks over it. */
export interface Connection {
  readonly transports: ReadonlyMap<string, Transport>;
  close(): void;
}

/** `localAddress` is where the connection comes from: any address of 127.0.0.0/8 is this machine. */
export function connectTo(baseUrl: string, localAddress = "127.0.0.1"): Connection {
  // The certificate is the server's own; a phone pins it.
  const tls: SecureClientSessionOptions & { localAddress: string } = { rejectUnauthorized: false, localAddress };
  const sessionManager = new Http2SessionManager(baseUrl, {}, tls);
  const options = { baseUrl, httpVersion: "2", sessionManager } as const;
  return {
    transports: new Map([
      ["Connect", createConnectTransport({ ...options, useBinaryFormat: true })],
      ["Connect JSON", createConnectTransport({ ...options, useBinaryFormat: false })],
      ["gRPC", createGrpcTransport(options)],
      ["gRPC-web", createGrpcWebTransport(options)],
    ]),
    close: () => {
      sessionManager.abort();
    },
  };
}

/** How the server answered, in one word: "Ok", or the name of the code. */
export async function answerTo(
  transport: Transport,
  method: DescMethod,
  headers: Readonly<Record<string, string>> = {},
  message: Record<string, unknown> = {},
): Promise<string> {
  try {
    if (method.methodKind === "unary") {
      await transport.unary(method as DescMethodUnary, undefined, undefined, headers, message);
      return "Ok";
    }
    const leaving = new AbortController();
    const { message: answers } = await transport.stream(
      method as DescMethodStreaming,
      leaving.signal,
      undefined,
      headers,
      (async function* () {
        yield message;
      })(),
    );
    for await (const _ of answers) {
      leaving.abort();
      return "Ok";
    }
    return "Ok";
  } catch (error) {
    return Code[ConnectError.from(error).code];
  }
}

/** What a refused call was refused with. */
export interface Refused {
  readonly code: string;
  /** Of the typed detail. */
  readonly refusal: string | undefined;
  readonly facts: Readonly<Record<string, string>>;
}

/** Awaits a call that must fail. */
export async function refusedBy(call: Promise<unknown>): Promise<Refused> {
  const error = await call.then(
    () => new Error("the call was answered"),
    (cause: unknown) => cause,
  );
  if (!(error instanceof ConnectError)) throw error;
  const [detail] = error.findDetails(RefusalDetailSchema);
  return { code: Code[error.code], refusal: detail?.code, facts: detail?.facts ?? {} };
}
