import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { chmodSync, lstatSync, rmSync } from "node:fs";
import { BlockList, connect, createServer, isIP, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { HttpAddress } from "../config/config.js";
import { withPrivateUmask } from "../files/private.js";
import type { Certificate } from "./certificate.js";
import { Connections, type Listener, type Serving } from "./connections.js";
import { socketOptions } from "./limits.js";

/** The shortest that any of our systems allows. Node cuts a longer path off in silence, and listens elsewhere. */
const socketPathBytesMax = 103;

/** HTTP/2, and HTTP/1.1 for clients that do not offer it, over TLS. */
export async function listenTls(address: HttpAddress, certificate: Certificate, serving: Serving): Promise<Listener> {
  const front = createTlsServer({
    cert: certificate.cert,
    key: certificate.key,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["h2", "http/1.1"],
    ...socketOptions(serving.limits),
  });
  const connections = new Connections(front, serving);
  // Node does not say which of the accepted sockets has become secure; its peer does.
  const handshakes = new Map<string, () => void>();
  const peerOf = ({ remoteAddress = "", remotePort = 0 }: Socket) => `${remoteAddress} ${remotePort}`;
  front.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    handshakes.set(peer, connections.expectOpening(socket));
    socket.once("close", () => handshakes.delete(peer));
  });
  front.on("secureConnection", (socket) => {
    handshakes.get(peerOf(socket))?.();
    if (socket.alpnProtocol === "h2") connections.speakHttp2(socket);
    else connections.speakHttp1(socket);
  });
  // Also who offers only protocols that we do not speak ends here.
  front.on("tlsClientError", (error) => connections.note(error, "a TLS handshake failed"));
  return connections.listen("https", () => front.listen(address.port, address.host));
}

/** HTTP/2 with prior knowledge, and HTTP/1.1, on one port that only this machine can reach. Throws for any other. */
export async function listenPlain(address: HttpAddress, serving: Serving): Promise<Listener> {
  const host = await loopbackAddressOf(address.host);
  const { front, connections } = createPlainFront(serving);
  return connections.listen("http", () => front.listen(address.port, host));
}

/** The same two protocols on a Unix socket that only its owner can open. Throws if another server answers there. */
export async function listenSocket(path: string, serving: Serving): Promise<Listener> {
  if (Buffer.byteLength(path) > socketPathBytesMax) {
    throw new Error(`${path}: a socket's path may have ${socketPathBytesMax} bytes at most`);
  }
  await removeStaleSocket(path);
  const { front, connections } = createPlainFront(serving);
  return connections.listen("unix", () => {
    withPrivateUmask(() => front.listen(path));
    // Nobody else could open it so far. Now it is also as narrow as it can be.
    if (front.listening) chmodSync(path, 0o600);
  });
}

function createPlainFront(serving: Serving): { front: Server; connections: Connections } {
  const front = createServer(socketOptions(serving.limits));
  const connections = new Connections(front, serving);
  front.on("connection", (socket) => connections.discern(socket));
  return { front, connections };
}

/** Names other than "localhost" may mean another machine tomorrow. */
async function loopbackAddressOf(host: string): Promise<string> {
  const address = host.toLowerCase() === "localhost" ? (await lookup(host)).address : host;
  const loopback = new BlockList();
  loopback.addSubnet("127.0.0.0", 8);
  loopback.addAddress("::1", "ipv6");
  const family = isIP(address);
  if (family !== 0 && loopback.check(address, family === 4 ? "ipv4" : "ipv6")) return address;
  throw new Error(`${host} is not a loopback address: whoever connects from elsewhere needs TLS`);
}

/** A server that died has left its socket behind, and nobody answers there. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${path}: is there already, and is not a socket`);
  const socket = connect(path);
  try {
    await once(socket, "connect");
  } catch (error) {
    if (codeOf(error) !== "ECONNREFUSED" && codeOf(error) !== "ENOENT") throw error;
    rmSync(path, { force: true });
    return;
  } finally {
    socket.destroy();
  }
  throw new Error(`${path}: another server is running`);
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}
