import { beforeEach, describe, expect, test } from "@jest/globals";
import { firstValueFrom } from "rxjs";
import { Growth, type SqliteEventLog } from "../../../infra/event-log/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import { fromOwner } from "../../support/backend.js";
import { said, threadCreated, threadDeleted } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
let log: SqliteEventLog;
let growth: Growth;
let woken: string[];

beforeEach(() => {
  log = bench.log();
  growth = bench.closing(new Growth(log));
  woken = [];
});

function wait(threadId: string | null, name = threadId ?? "log"): () => void {
  return growth.onNext(threadId, () => woken.push(name));
}

describe("growth", () => {
  test("wakes those who wait for a thread that has grown, and those who wait for the log", async () => {
    wait("a");
    wait("a", "another at a");
    wait("b");
    wait(null);
    await record(log, appendOf(write("a", "any", threadCreated)));
    expect(woken).toEqual(["a", "another at a", "log"]);
    expect(growth.waiting).toBe(1);
  });

  test("wakes once for what is committed together, and never again", async () => {
    wait("a");
    wait("b");
    await record(log, appendOf(write("a", "any", threadCreated, said("x")), write("b", "any", threadCreated)));
    await record(log, appendOf(write("a", "any", said("y"))));
    expect(woken).toEqual(["a", "b"]);
    expect(growth.waiting).toBe(0);
  });

  test("lets whoever is woken wait again at once, for the next time", async () => {
    let times = 0;
    const again = () => {
      times += 1;
      growth.onNext("a", again);
    };
    growth.onNext("a", again);
    for (const text of ["x", "y", "z"]) await record(log, appendOf(write("a", "any", said(text))));
    expect(times).toBe(3);
    expect(growth.waiting).toBe(1);
  });

  test("lets whoever waits for certain types sleep until one of them comes", async () => {
    growth.onNext("a", () => woken.push("end"), new Set(["turnCompleted", "threadDeleted"]));
    wait("a", "anything");
    await record(log, appendOf(write("a", "any", threadCreated, said("x"))));
    expect(woken).toEqual(["anything"]);
    await record(log, appendOf(write("a", "any", said("y"), threadDeleted)));
    expect(woken).toEqual(["anything", "end"]);
    expect(growth.waiting).toBe(0);
  });

  test("wakes also them for what another process has written: it may be anything", async () => {
    growth.onNext("a", () => woken.push("end"), new Set(["turnCompleted"]));
    await record(bench.log(), appendOf(write("a", "any", threadCreated)));
    log.noticeForeignCommits();
    expect(woken).toEqual(["end"]);
  });

  test("forgets who has taken it back, also when it was woken before", async () => {
    const takeBack = wait("a");
    wait("a", "stays");
    takeBack();
    takeBack();
    expect(growth.waiting).toBe(1);
    await record(log, appendOf(write("a", "any", threadCreated)));
    expect(woken).toEqual(["stays"]);
    const takeBackLater = wait("a", "later");
    takeBack(); // Of an earlier wait: it must not take the later one with it.
    expect(growth.waiting).toBe(1);
    takeBackLater();
    expect(growth.waiting).toBe(0);
  });

  test("wakes all when another process has written, since nobody says what", async () => {
    wait("a");
    wait("b");
    wait(null);
    const noticed = firstValueFrom(log.grown);
    await record(bench.log(), appendOf(write("c", "any", threadCreated)));
    await noticed;
    expect(woken).toEqual(["a", "b", "log"]);
  });

  test("wakes all when our own commit follows one of another process that nobody has noticed yet", async () => {
    const other = bench.log();
    wait("b");
    const foreign = other.append(appendOf(write("b", "any", threadCreated)));
    const own = log.append(appendOf(write("a", "any", threadCreated)));
    await Promise.all([foreign, own]);
    log.noticeForeignCommits();
    expect(woken).toEqual(["b"]);
  });

  test("says when something was erased, here or perhaps elsewhere, and not for other commits", async () => {
    await record(log, appendOf(write("a", "any", threadCreated, said("x"))));
    expect(growth.erasures).toBe(0);
    await log.erase({ occurredAt: noon, ranges: [{ first: 2, last: 2 }], reason: "forget", provenance: fromOwner });
    expect(growth.erasures).toBe(1);
    await record(bench.log(), appendOf(write("a", "any", said("y"))));
    log.noticeForeignCommits();
    expect(growth.erasures).toBe(2);
  });

  test("wakes all when it is closed", () => {
    wait("a");
    wait(null);
    growth.close();
    expect(woken).toEqual(["a", "log"]);
    expect(growth.waiting).toBe(0);
  });
});
