import { createReadStream, createWriteStream } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";
import { z } from "zod";
import { toHex } from "./chain.js";
import { LogError } from "./errors.js";
import type { Head } from "./heads.js";
import { pageEventsMax, type LogReader } from "./log-reader.js";
import type { StoredEvent } from "./record.js";
import { Verifier, type Verdict } from "./verifier.js";

/**
 * An export is JSON lines: what it is, one line an event, and the head, so that a file that was cut off shows.
 * Bytes are hex, except the event itself, which is base64 (protobuf, `pincer.protocol.v1.ThreadEvent`).
 */
const header = { format: "pincer-log", version: 1 } as const;

const hexText = z.string().regex(/^([0-9a-f]{2})*$/);
const hex = hexText.transform((text) => Buffer.from(text, "hex"));
const base64 = z.base64().transform((text) => Buffer.from(text, "base64"));
const count = z.int();

const exportedEvent = z.strictObject({
  position: count,
  event_id: z.string(),
  stream: z.string(),
  version: count,
  thread_id: z.string().nullable(),
  sequence: count.nullable(),
  type: z.string(),
  command_id: z.string().nullable(),
  command_digest: hexText.nullable(),
  command_events: count.nullable(),
  occurred_at: z.string(),
  event: base64.nullable(),
  salt: hex.nullable(),
  digest: hexText,
  hash: hexText,
});
const exportedHead = z.strictObject({ head: z.strictObject({ position: count, hash: z.string() }) });

/** Writes the log as it is now; events that come meanwhile are not part of it. */
export async function exportLog(
  log: LogReader,
  file: string,
  onProgress: (position: number) => void = () => undefined,
): Promise<Head> {
  const head = log.head();
  const out = createWriteStream(file, { mode: 0o600, flags: "wx" });
  await once(out, "open");
  out.write(`${JSON.stringify(header)}\n`);
  let after = 0;
  while (after < head.position) {
    const rows = log.readAll(after, Math.min(pageEventsMax, head.position - after));
    const last = rows.at(-1);
    if (last === undefined) throw new LogError("broken", log.file, after + 1, "the event is missing");
    if (!out.write(rows.map((row) => `${JSON.stringify(toExported(row))}\n`).join(""))) await once(out, "drain");
    after = last.position;
    onProgress(after);
  }
  out.end(`${JSON.stringify({ head })}\n`);
  await finished(out);
  return head;
}

/** Verifies an export without the database. */
export async function verifyExport(
  file: string,
  known: Head | null,
  onProgress: (position: number) => void = () => undefined,
): Promise<Verdict> {
  const verifier = new Verifier(known);
  let lineNumber = 0;
  let end: Head | null = null;
  const malformed = (what: string): Verdict => {
    const { head, erasedEvents } = verifier.verdict();
    return { head, erasedEvents, problem: { position: head.position + 1, what: `line ${lineNumber} ${what}` } };
  };
  const input = createReadStream(file);
  await once(input, "open");
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      lineNumber++;
      const value = parseJson(line);
      if (lineNumber === 1) {
        if (JSON.stringify(value) === JSON.stringify(header)) continue;
        return malformed("does not say that this is the export of a log");
      }
      if (end !== null) return malformed("comes after the end");
      const row = exportedEvent.safeParse(value);
      if (row.success) {
        if (!verifier.next(row.data)) return verifier.verdict();
        onProgress(row.data.position);
        continue;
      }
      end = exportedHead.safeParse(value).data?.head ?? null;
      if (end === null) return malformed("is not an event");
    }
  } finally {
    input.destroy();
  }
  const verdict = verifier.verdict();
  if (verdict.problem !== null) return verdict;
  if (end?.position !== verdict.head.position || end.hash !== verdict.head.hash) {
    return malformed("is the last one, and the head is missing or another");
  }
  return verdict;
}

function toExported(row: StoredEvent): z.input<typeof exportedEvent> {
  return {
    ...row,
    command_digest: row.command_digest && toHex(row.command_digest),
    event: row.event && Buffer.from(row.event).toString("base64"),
    salt: row.salt && toHex(row.salt),
    digest: toHex(row.digest),
    hash: toHex(row.hash),
  };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // Whoever asked reports the line.
  }
}
