import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** Passes everything on to a server, and so many bytes back; after that it takes nothing more, as a sleeping phone does. */
export async function deadEnd(target: string, bytesMax: number): Promise<{ readonly url: string; close(): void }> {
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const up = connect(Number(new URL(target).port), "127.0.0.1");
    sockets.push(client, up);
    for (const socket of [client, up]) socket.on("error", () => undefined);
    client.pipe(up);
    let bytes = 0;
    up.on("data", (chunk: Buffer) => {
      client.write(chunk);
      bytes += chunk.length;
      if (bytes >= bytesMax) up.pause();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
