import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { text } from "node:stream/consumers";

/** What a server says of itself. */
export async function metricsOf(url: string): Promise<string> {
  const request = get(`${url}/metrics`, { rejectUnauthorized: false, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return text(response);
}
