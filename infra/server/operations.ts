import type { Request, Response } from "../rpc/api.js";
import type { Metrics } from "./metrics.js";

/** How far the read models have come. */
export interface Readiness {
  isReady: boolean;
  position: number;
  head: number;
}

type Answer = readonly [status: number, contentType: string, body: string];

/** The routes for whoever operates the server: they say nothing of what is in it. All else is not found. */
export async function answerOperations(
  request: Request,
  response: Response,
  readiness: Readonly<Readiness>,
  metrics: Metrics,
): Promise<void> {
  const [status, contentType, body] = await answerTo(request, readiness, metrics);
  response.writeHead(status, { "content-type": contentType, "cache-control": "no-store" });
  response.end(request.method === "HEAD" ? "" : body);
}

async function answerTo(request: Request, readiness: Readonly<Readiness>, metrics: Metrics): Promise<Answer> {
  const path = request.url?.split("?", 1)[0] ?? "";
  if (!["/healthz", "/readyz", "/metrics"].includes(path)) return json(404, { status: "not found" });
  if (request.method !== "GET" && request.method !== "HEAD") return json(405, { status: "method not allowed" });
  switch (path) {
    case "/healthz":
      return json(200, { status: "alive" });
    case "/metrics":
      return [200, "text/plain; version=0.0.4; charset=utf-8", await metrics.text()];
    default: {
      const { isReady, position, head } = readiness;
      return isReady ? json(200, { status: "ready" }) : json(503, { status: "rebuilding read models", position, head });
    }
  }
}

function json(status: number, body: object): Answer {
  return [status, "application/json", `${JSON.stringify(body)}\n`];
}
