import type { DescService } from "@bufbuild/protobuf";
import { createClient, type Client, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { connect } from "node:net";
import type { Config } from "../../infra/config/config.js";
import { serve, type Running, type Surroundings } from "../../infra/server/serve.js";
import { socketFile } from "../../infra/server/socket-file.js";
import { AuthService } from "../../proto/gen/pincer/protocol/v1/auth_pb.js";
import { quiet } from "./backend.js";

export function testConfig(dataDirectory: string, overrides: Partial<Config> = {}): Config {
  return {
    dataDirectory,
    httpAddress: { host: "127.0.0.1", port: 0 },
    tlsFiles: null,
    isPlain: false,
    publicUrl: null,
    activeDevicesMax: 1,
    model: null,
    tokensPerDay: 1_000_000,
    allowsRawReasoning: false,
    approvalHours: 24,
    undoSeconds: null,
    logLevel: "silent",
    ...overrides,
  };
}

/** A real server on a real port, and clients of it. */
export interface TestServer {
  readonly running: Running;
  readonly dataDirectory: string;
  /** A client with a token, or without one, on a connection of its own. */
  client<Service extends DescService>(service: Service, token?: string): Client<Service>;
  /** The owner's operator, on the socket. */
  operator<Service extends DescService>(service: Service): Client<Service>;
  /** Pairs a device and answers its token and id. */
  pair(name?: string): Promise<{ readonly token: string; readonly deviceId: string }>;
  stop(): Promise<void>;
}

export async function startServer(
  dataDirectory: string,
  overrides: Partial<Config> = {},
  surroundings: Surroundings = {},
): Promise<TestServer> {
  const running = await serve(testConfig(dataDirectory, overrides), quiet, surroundings);
  await running.ready;
  const operator = <Service extends DescService>(service: Service) =>
    createClient(service, socketTransport(socketFile(dataDirectory)));
  const client = <Service extends DescService>(service: Service, token?: string) =>
    createClient(service, networkTransport(running.url, token));
  return {
    running,
    dataDirectory,
    client,
    operator,
    pair: async (name = "phone") => {
      const { code } = await operator(AuthService).createPairingCode({});
      return client(AuthService).bindPairingCode({ code, deviceName: name });
    },
    stop: () => running.stop(),
  };
}

export function networkTransport(baseUrl: string, token?: string): Transport {
  return createConnectTransport({
    baseUrl,
    httpVersion: "2",
    interceptors: token === undefined ? [] : [bearing(token)],
    nodeOptions: { rejectUnauthorized: false }, // The certificate is the server's own; a phone pins it.
  });
}

export function socketTransport(file: string): Transport {
  return createConnectTransport({
    baseUrl: "http://localhost",
    httpVersion: "2",
    nodeOptions: { createConnection: () => connect(file) },
  });
}

export function bearing(token: string): Interceptor {
  return (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
}
