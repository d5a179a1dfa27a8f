import { describe, expect, test } from "@jest/globals";
import { verifyLog } from "../../../infra/event-log/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner } from "../../support/backend.js";
import { delta, said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

// To SQLite, a second connection is a second process.
describe("two processes with one log", () => {
  test("never tear the order", async () => {
    const logs = [bench.log(), bench.log()];
    await Promise.all(
      Array.from({ length: 400 }, (_, n) => record(logs[n % 2]!, appendOf(write(`s-${n % 3}`, "any", delta(`${n}`))))),
    );
    for (const log of logs) {
      expect(log.head().position).toBe(400);
      expect(await verifyLog(log, null)).toMatchObject({ problem: null, head: log.head() });
    }
    for (const thread of ["s-0", "s-1", "s-2"]) {
      const rows = logs[0]!.readThread(thread, 0, 1_000);
      expect(rows.map(({ version, sequence }) => [version, sequence])).toEqual(rows.map((_, n) => [n + 1, n + 1]));
    }
  });

  test("see each other's versions: of two that expect the same, one is right", async () => {
    const [here, there] = [bench.log(), bench.log()];
    for (let version = 0; version < 20; version++) {
      const results = await Promise.all(
        [here, there].map((log) => log.append(appendOf(write("s", version, said(`${version}`))))),
      );
      expect(results.map(({ outcome }) => outcome).sort()).toEqual(["appended", "version_conflict"]);
    }
    expect(here.head()).toEqual(there.head());
  });

  test("do not trust what they remember of a stream that the other has written to", async () => {
    const [here, there] = [bench.log(), bench.log()];
    await record(here, appendOf(write("s", "no_stream", said("one"))));
    await record(there, appendOf(write("s", 1, said("two"))));
    expect(await here.append(appendOf(write("s", 1, said("three"))))).toMatchObject({ actual: 2 });
    expect(await record(here, appendOf(write("s", 2, said("three"))))).toMatchObject([{ position: 3, sequence: 3 }]);
    expect(there.head()).toEqual(here.head());
  });

  test("see at once what the other has erased", async () => {
    const [here, there] = [bench.log(), bench.log()];
    await record(here, appendOf(write("s", "any", said("secret"))));
    await there.erase({ occurredAt: noon, ranges: [{ first: 1, last: 1 }], reason: "forget", provenance: fromOwner });
    expect(here.readStream("s", 0, 1)).toMatchObject([{ payload: null }]);
    expect(here.head().position).toBe(2);
  });

  test("both find the log where a third left it", async () => {
    const first = bench.log();
    await record(first, appendOf(write("s", "any", said("one"))));
    const second = bench.log();
    first.close();
    await record(second, appendOf(write("s", 1, said("two"))));
    expect(bench.log().head()).toEqual(second.head());
  });
});
