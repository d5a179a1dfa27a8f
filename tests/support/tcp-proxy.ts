import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** How a connection ends before its time. */
export interface Cut {
  /** Counted on their way from the client to the server, or back. */
  readonly direction: "up" | "down";
  /** So many bytes still pass; the rest of the chunk does not. */
  readonly afterBytes: number;
  /** Both ends are told at once, with a reset or a polite end; or only one is, and the other hears nothing anymore. */
  readonly kind: "reset" | "end" | "only-client-told" | "only-server-told";
}

/** Ends that were not told find out sooner or later; this many at a time have not. */
const untoldMax = 4;
/** Node's HTTP/2 over TLS does not notice every reset. An app has a watchdog for that; this is how patient it is. */
const watchdogMillis = 250;

interface CutEvents {
  onCut(): void;
  /** The client has not come back since: it was not told, or has not noticed, and hears no heartbeat. */
  onSilence(): void;
}

/** Stands between a client and a server on this machine, and cuts their connections as it is told to. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #untold: Socket[] = [];
  #connections = 0;

  private constructor(
    private readonly target: URL,
    private readonly nextCut: () => Cut | null,
    private readonly events: CutEvents,
  ) {
    this.#server = createServer({ noDelay: true }, (client) => {
      this.#join(client);
    });
  }

  /** `nextCut` is asked for each connection; null lets it live. */
  static async listen(url: string, nextCut: () => Cut | null, events: CutEvents): Promise<TcpProxy> {
    const proxy = new TcpProxy(new URL(url), nextCut, events);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `${this.target.protocol}//127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket): void {
    const server = connect({ port: Number(this.target.port), host: "127.0.0.1", noDelay: true });
    const cut = this.nextCut();
    this.#connections += 1;
    const ends = { client, server };
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined); // What happens to a cut connection is the ends' business.
      socket.once("close", () => this.#sockets.delete(socket));
    }
    this.#pass(client, server, cut?.direction === "up" ? cut : null, ends);
    this.#pass(server, client, cut?.direction === "down" ? cut : null, ends);
  }

  #pass(from: Socket, to: Socket, cut: Cut | null, ends: { client: Socket; server: Socket }): void {
    let left = cut?.afterBytes ?? Infinity;
    from.on("data", (chunk) => {
      if (left <= 0) return;
      const passing = chunk.subarray(0, Math.min(left, chunk.length));
      left -= chunk.length;
      if (to.writable && !to.write(passing)) {
        from.pause();
        to.once("drain", () => from.resume());
      }
      if (cut !== null && left <= 0) this.#cut(cut, ends);
    });
    from.once("end", () => to.end());
    from.once("close", () => to.destroy());
  }

  #cut({ kind }: Cut, { client, server }: { client: Socket; server: Socket }): void {
    this.events.onCut();
    const connections = this.#connections;
    setTimeout(() => {
      if (this.#connections === connections) this.events.onSilence();
    }, watchdogMillis).unref();
    if (this.#untold.length > untoldMax) this.#untold.shift()?.destroy();
    for (const socket of [client, server]) {
      socket.removeAllListeners("data").removeAllListeners("end").removeAllListeners("close");
      socket.once("close", () => this.#sockets.delete(socket));
      socket.resume(); // Whatever still comes is swallowed.
    }
    switch (kind) {
      case "reset":
        client.resetAndDestroy();
        server.resetAndDestroy();
        break;
      case "end":
        client.destroySoon();
        server.destroySoon();
        break;
      case "only-client-told":
        client.resetAndDestroy();
        this.#untold.push(server);
        break;
      case "only-server-told":
        server.resetAndDestroy();
        this.#untold.push(client);
        break;
    }
  }
}
