import { join } from "node:path";

/** Where whoever is on this machine, and may read the data, speaks to the server. */
export function socketFile(dataDirectory: string): string {
  return join(dataDirectory, "pincer.sock");
}
