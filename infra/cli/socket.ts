import { ConnectError, type CallOptions, type Transport } from "@connectrpc/connect";
import { createConnectTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { RefusalDetailSchema } from "../../proto/gen/pincer/protocol/v1/errors_pb.js";
import { socketFile } from "../server/socket-file.js";
import type { CliContext } from "./context.js";
import { printable } from "./output.js";

/** Nobody looks it up: the connection is the socket. */
const baseUrl = "http://localhost";

const answerMillisMax = 30_000;

/** For a call whose answer takes no time: when to give up. */
export function soon({ signal }: CliContext): CallOptions {
  return { signal, timeoutMs: answerMillisMax };
}

/** Speaks to the server that runs on the data, as its operator. What it refuses is thrown as one line for people. */
export async function withServer<T>(
  { dataDirectory }: CliContext,
  work: (transport: Transport) => Promise<T>,
): Promise<T> {
  const socket = await reach(dataDirectory);
  const sessionManager = new Http2SessionManager(baseUrl, {}, { createConnection: () => socket });
  try {
    return await work(createConnectTransport({ baseUrl, httpVersion: "2", sessionManager }));
  } catch (error) {
    throw error instanceof ConnectError ? new Error(toLine(error), { cause: error }) : error;
  } finally {
    sessionManager.abort();
    socket.destroy();
  }
}

async function reach(dataDirectory: string): Promise<Socket> {
  const socket = connect(socketFile(dataDirectory));
  try {
    await once(socket, "connect");
    return socket;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["ENOENT", "ECONNREFUSED", "ENOTDIR"].includes(code)) throw error;
    throw new Error(`no server is running on ${dataDirectory}; start one with npm start`, { cause: error });
  }
}

/** The Connect code and why, in words; then the refusal's own code and its facts, if it is one. */
function toLine(error: ConnectError): string {
  const [refusal] = error.findDetails(RefusalDetailSchema);
  if (refusal === undefined) return printable(error.message);
  const facts = Object.entries(refusal.facts).map(([name, value]) => `${name}=${value}`);
  return printable(`${error.message} (${[refusal.code, ...facts].join(" ")})`);
}
