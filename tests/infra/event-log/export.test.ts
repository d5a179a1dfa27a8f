import { beforeEach, describe, expect, test } from "@jest/globals";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportLog, verifyExport, verifyLog, type Head, type SqliteEventLog } from "../../../infra/event-log/index.js";
import { appendOf, noon, record, recordMany, write } from "../../support/appends.js";
import { fromOwner, openTestLog } from "../../support/backend.js";
import { delta, said } from "../../support/facts.js";
import { randomFrom } from "../../support/random.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const events = 21;
let log: SqliteEventLog;
let file: string;
let head: Head;
let lines: string[];

// Number 3 is erased, number 5 says so; line n is position n, after the header and before the head.
beforeEach(async () => {
  log = bench.log();
  file = join(bench.path, "export.jsonl");
  await record(log, { ...appendOf(write("s", "any", said("first"))), command: { id: "key", asked: "first" } });
  await recordMany(log, "s", [said("second"), said("third"), said("fourth")]);
  await log.erase({ occurredAt: noon, ranges: [{ first: 3, last: 3 }], reason: "forget", provenance: fromOwner });
  for (let position = 6; position < events; position++) await record(log, appendOf(write("s", "any", said("more"))));
  await record(log, appendOf({ ...write("owner", "any", delta("no thread")), threadId: null }));
  head = await exportLog(log, file);
  lines = readFileSync(file, "utf8").trimEnd().split("\n");
});

/** What verification says about the export once its lines were changed. */
async function verifyChanged(change: (lines: string[]) => string[], known: Head | null = null) {
  writeFileSync(file, `${change([...lines]).join("\n")}\n`);
  return verifyExport(file, known);
}

describe("an export", () => {
  test("holds all there is to verify", async () => {
    expect(head).toEqual(log.head());
    expect(lines).toHaveLength(events + 2);
    expect(await verifyExport(file, null)).toEqual(await verifyLog(log, null));
    expect(await verifyExport(file, head)).toEqual({ head, erasedEvents: 1, problem: null });
  });

  test("holds an erased event as its digest", () => {
    expect(JSON.parse(lines[3]!)).toMatchObject({
      position: 3,
      event: null,
      salt: null,
      digest: Buffer.from(log.readAll(2, 1)[0]!.digest).toString("hex"),
    });
  });

  test("of an empty log is verified, too", async () => {
    log.close();
    const empty = bench.closing(openTestLog(bench.elsewhere("empty")));
    const emptyFile = join(bench.path, "empty.jsonl");
    await exportLog(empty, emptyFile);
    expect(await verifyExport(emptyFile, null)).toMatchObject({ head: { position: 0 }, problem: null });
    expect(await verifyExport(emptyFile, head)).toMatchObject({ problem: { position: 1 } });
  });

  test("does not overwrite a file", async () => {
    const before = readFileSync(file);
    await expect(exportLog(log, file)).rejects.toMatchObject({ code: "EEXIST" });
    expect(readFileSync(file)).toEqual(before);
  });

  test("can be read by this user only", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("of a long log takes several pages, and leaves out what comes meanwhile", async () => {
    for (let n = 0; n < 3; n++)
      await record(log, appendOf(write("s", "any", ...Array.from({ length: 900 }, () => delta("x")))));
    const long = join(bench.path, "long.jsonl");
    const exporting = exportLog(log, long);
    await record(log, appendOf(write("s", "any", said("meanwhile"))));
    const exported = await exporting;
    expect(await verifyExport(long, null)).toMatchObject({ head: exported, problem: null });
  });

  test("that does not exist is an error, not a verdict", async () => {
    await expect(verifyExport(join(bench.path, "nothing"), null)).rejects.toMatchObject({ code: "ENOENT" });
  });
});

describe("an export shows that", () => {
  test.each([
    ["the header is missing", (all: string[]) => all.slice(1), 1],
    ["the header is another's", (all: string[]) => all.with(0, `{"format":"shopping","version":1}`), 1],
    ["the header is of another version", (all: string[]) => all.with(0, `{"format":"pincer-log","version":2}`), 1],
    ["everything is missing", () => [], 1],
    ["the end is missing", (all: string[]) => all.slice(0, -1), 22],
    ["the tail was cut", (all: string[]) => all.slice(0, 11), 11],
    ["the tail was cut before the end", (all: string[]) => all.toSpliced(12, 10), 12],
    ["an event is missing", (all: string[]) => all.toSpliced(7, 1), 7],
    ["an event was doubled", (all: string[]) => all.toSpliced(8, 0, all[7]!), 7],
    ["two events were swapped", (all: string[]) => all.with(7, all[8]!).with(8, all[7]!), 7],
    ["a line is garbage", (all: string[]) => all.with(7, "garbage"), 7],
    ["a line is empty", (all: string[]) => all.with(7, ""), 7],
    ["a line is of another kind", (all: string[]) => all.with(7, "[]"), 7],
    ["a field was added", (all: string[]) => all.with(7, all[7]!.replace("{", `{"note":"x",`)), 7],
    ["a text was changed", (all: string[]) => all.with(7, all[7]!.replace("messageCommitted", "messageCommittee")), 7],
    ["a position was changed", (all: string[]) => all.with(7, all[7]!.replace(`"position":7`, `"position":8`)), 7],
    ["something comes after the end", (all: string[]) => [...all, all[7]!], 22],
    ["there are two ends", (all: string[]) => [...all, all.at(-1)!], 22],
    ["the end is another's", (all: string[]) => all.with(-1, all.at(-1)!.replace(/[0-9a-f]{64}/, "0".repeat(64))), 22],
  ])("%s", async (_what, change, position) => {
    expect((await verifyChanged(change)).problem).toMatchObject({ position });
  });

  test("its last line was cut in the middle", async () => {
    const whole = readFileSync(file);
    writeFileSync(file, whole.subarray(0, whole.length - 10));
    expect((await verifyExport(file, null)).problem).toMatchObject({ position: 22 });
  });

  test("a whole export of an older log is not the log that was known", async () => {
    await record(log, appendOf(write("s", "any", said("later"))));
    expect((await verifyExport(file, log.head())).problem).toMatchObject({ position: 22 });
  });

  test("any byte was flipped, unless it still says the same", async () => {
    const whole = readFileSync(file);
    const random = randomFrom(7);
    const meaning = (text: string) => text.trimEnd().split("\n").map(meaningOf);
    for (let n = 0; n < 300; n++) {
      const flipped = Buffer.from(whole);
      const index = random.below(flipped.length);
      flipped.writeUInt8(flipped[index]! ^ (1 << random.below(8)), index);
      writeFileSync(file, flipped);
      const { problem } = await verifyExport(file, null);
      if (problem === null) expect(meaning(flipped.toString())).toEqual(meaning(whole.toString()));
    }
  });
});

/** A line as it is understood: base64 can write the same bytes in more than one way. */
function meaningOf(line: string): unknown {
  return JSON.parse(line, (key, value: unknown) =>
    key === "event" && typeof value === "string" ? Buffer.from(value, "base64").toString("hex") : value,
  );
}
