import { describe, expect, test } from "@jest/globals";
import { openLogReader } from "../../../infra/event-log/index.js";
import { appendOf, write } from "../../support/appends.js";
import { said } from "../../support/facts.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const secret = (text: string) => new TextEncoder().encode(text);
const keeping = (id: string, text: string) => ({ keep: [{ id, value: secret(text) }], forget: [] });

describe("a secret", () => {
  test("is kept and forgotten with the facts that speak of it", async () => {
    const log = bench.log();
    await log.append({ ...appendOf(write("s", "any", said("one"))), secrets: keeping("a", "x") });
    expect(log.secret("a")).toEqual(Buffer.from("x"));
    await log.append({ ...appendOf(write("s", "any", said("two"))), secrets: { keep: [], forget: ["a"] } });
    expect(log.secret("a")).toBeNull();
  });

  test("is not kept when the facts are not recorded", async () => {
    const log = bench.log();
    const conflict = { ...appendOf(write("s", "exists", said("one"))), secrets: keeping("a", "x") };
    const impossible = { ...appendOf(write("s", "any", said("x".repeat(5_000_000)))), secrets: keeping("b", "x") };
    const fine = { ...appendOf(write("t", "any", said("fine"))), secrets: keeping("c", "x") };
    const results = await Promise.allSettled([conflict, impossible, fine].map((append) => log.append(append)));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(["a", "b", "c"].map((id) => log.secret(id) !== null)).toEqual([false, false, true]);
  });

  test("is not changed by a command that was carried out before", async () => {
    const log = bench.log();
    const command = { id: "k", asked: {} };
    await log.append({ ...appendOf(write("s", "any", said("one"))), command, secrets: keeping("a", "first") });
    await log.append({ ...appendOf(write("s", "any", said("one"))), command, secrets: keeping("a", "second") });
    expect(log.secret("a")).toEqual(Buffer.from("first"));
  });

  test("is there for whoever opens the log next, and for a reader", async () => {
    const log = bench.log();
    await log.append({ ...appendOf(write("s", "any", said("one"))), secrets: keeping("a", "x") });
    log.close();
    expect(bench.log().secret("a")).toEqual(Buffer.from("x"));
    expect(bench.closing(openLogReader(bench.path)).secret("a")).toEqual(Buffer.from("x"));
  });
});
