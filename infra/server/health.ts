import { createServer, type Server } from "node:http";

const headerBytesMax = 16 * 1024;
const requestMillisMax = 10_000;
const connectionsMax = 1_000;

/** How far the read models have come. */
export interface Readiness {
  isReady: boolean;
  position: number;
  head: number;
}

/** `/healthz`: the process is alive. `/readyz`: it can answer for what is in the log. */
export function createHealthServer(readiness: Readonly<Readiness>): Server {
  const server = createServer(
    { maxHeaderSize: headerBytesMax, requestTimeout: requestMillisMax, headersTimeout: requestMillisMax },
    (request, response) => {
      const path = request.url?.split("?", 1)[0];
      const [status, body] = answer(request.method, path, readiness);
      response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
      response.end(request.method === "HEAD" ? undefined : `${JSON.stringify(body)}\n`);
    },
  );
  server.maxConnections = connectionsMax;
  return server;
}

function answer(
  method: string | undefined,
  path: string | undefined,
  readiness: Readonly<Readiness>,
): [number, object] {
  if (path !== "/healthz" && path !== "/readyz") return [404, { status: "not found" }];
  if (method !== "GET" && method !== "HEAD") return [405, { status: "method not allowed" }];
  if (path === "/healthz") return [200, { status: "alive" }];
  const { isReady, position, head } = readiness;
  return isReady ? [200, { status: "ready" }] : [503, { status: "rebuilding read models", position, head }];
}
