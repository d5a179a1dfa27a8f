import { describe, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import { hash } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { logFile, openLogReader } from "../../../infra/event-log/index.js";
import { migrate, migrations, type Migration } from "../../../infra/event-log/schema.js";
import { appendOf, record, write } from "../../support/appends.js";
import { openTestLog } from "../../support/backend.js";
import { said } from "../../support/facts.js";
import { withRawLog } from "../../support/raw-log.js";
import { unprivileged } from "../../support/unprivileged.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

const one: Migration = (db) => db.exec("CREATE TABLE one (n INTEGER) STRICT; INSERT INTO one VALUES (1)");
const two: Migration = (db) => db.exec("CREATE TABLE two (n INTEGER) STRICT; INSERT INTO two SELECT n + 1 FROM one");

function database(name = "any.db"): Database.Database {
  return bench.closing(new Database(join(bench.path, name)));
}

function versionOf(db: Database.Database): unknown {
  return db.pragma("user_version", { simple: true });
}

describe("a migration", () => {
  test("is applied once, and a later one after it", () => {
    const db = database();
    migrate(db, [one]);
    expect(versionOf(db)).toBe(1);
    migrate(db, [one, two]);
    migrate(db, [one, two]);
    expect(versionOf(db)).toBe(2);
    expect(db.prepare("SELECT n FROM two").pluck().all()).toEqual([2]);
  });

  test("of an empty file applies all of them", () => {
    const db = database();
    migrate(db, [one, two]);
    expect(versionOf(db)).toBe(2);
    expect(db.prepare("SELECT n FROM one").pluck().all()).toEqual([1]);
  });

  test("that fails leaves the schema as it was, and can be tried again", () => {
    const db = database();
    migrate(db, [one]);
    const failing: Migration = (connection) => {
      two(connection);
      throw new Error("half way");
    };
    expect(() => migrate(db, [one, failing])).toThrow("half way");
    expect(versionOf(db)).toBe(1);
    migrate(db, [one, two]);
    expect(db.prepare("SELECT n FROM two").pluck().all()).toEqual([2]);
  });

  test("is applied once by two processes that start one after the other", () => {
    const [here, there] = [database(), database()];
    migrate(here, [one]);
    migrate(there, [one]);
    expect(there.prepare("SELECT n FROM one").pluck().all()).toEqual([1]);
  });

  test("leaves what is in a log as it is", async () => {
    const log = bench.log();
    await record(log, appendOf(write("s", "any", said("hello"))));
    const before = log.readAll(0, 10);
    log.close();
    withRawLog(bench.path, (db) => migrate(db, [...migrations, one]));
    expect(withRawLog(bench.path, versionOf)).toBe(migrations.length + 1);
    expect(withRawLog(bench.path, (db) => db.prepare("SELECT * FROM events").all())).toEqual(before);
  });
});

describe("a file is refused, and not touched,", () => {
  /** Opens what is there, for writing and for reading, and answers with the complaint. */
  function refusal(): unknown {
    const before = contents();
    const complaints = [() => openTestLog(bench.path), () => openLogReader(bench.path)].map((open) => {
      try {
        open().close();
        return undefined;
      } catch (error) {
        return error;
      }
    });
    expect(contents()).toEqual(before);
    expect(complaints[1]).toMatchObject({ name: "LogError", file: logFile(bench.path) });
    return complaints[0];
  }

  function contents(): string {
    return hash("sha256", readFileSync(logFile(bench.path)));
  }

  test("when its schema is newer than this version", () => {
    bench.log().close();
    withRawLog(bench.path, (db) => db.pragma(`user_version = ${migrations.length + 1}`));
    expect(refusal()).toMatchObject({
      trouble: "foreign",
      file: logFile(bench.path),
      message: expect.stringContaining(`schema version ${migrations.length + 1}`),
    });
  });

  test("when it is the database of another program", () => {
    database("log.db").exec("CREATE TABLE shopping (item TEXT); INSERT INTO shopping VALUES ('milk')").close();
    expect(refusal()).toMatchObject({ trouble: "foreign", file: logFile(bench.path) });
  });

  test("when it is another program's that happens to use the same version", () => {
    const db = database("log.db").exec("CREATE TABLE shopping (item TEXT)");
    db.pragma(`user_version = ${migrations.length}`);
    db.close();
    expect(refusal()).toMatchObject({ trouble: "foreign" });
  });

  test("when it is not a database", () => {
    writeFileSync(logFile(bench.path), "Dear diary, today I met a log. ".repeat(100));
    expect(refusal()).toMatchObject({ trouble: "foreign", file: logFile(bench.path) });
  });

  test("when it is not a database, and shorter than one could be", () => {
    writeFileSync(logFile(bench.path), "Dear diary");
    expect(refusal()).toMatchObject({ trouble: "foreign", file: logFile(bench.path) });
  });

  test("when its tables are missing although it says that it is a log", () => {
    const db = database("log.db");
    db.pragma("journal_mode = WAL");
    migrate(db, [one]);
    db.close();
    expect(refusal()).toMatchObject({ name: "LogError", file: logFile(bench.path) });
  });

  test("when it cannot be written", async () => {
    const log = bench.log();
    await record(log, appendOf(write("s", "any", said("hello"))));
    log.close();
    chmodSync(logFile(bench.path), 0o444);
    chmodSync(bench.path, 0o555);
    const before = contents();
    expect(() => unprivileged(() => openTestLog(bench.path))).toThrow(
      expect.objectContaining({ trouble: "unavailable", file: logFile(bench.path) }),
    );
    chmodSync(bench.path, 0o755);
    expect(contents()).toEqual(before);
  });

  test("when a directory has its name", () => {
    mkdirSync(logFile(bench.path));
    expect(() => openTestLog(bench.path)).toThrow(
      expect.objectContaining({ trouble: "unavailable", file: logFile(bench.path) }),
    );
  });
});

describe("opening", () => {
  test("for reading makes no log where there is none", () => {
    expect(() => openLogReader(bench.path)).toThrow(expect.objectContaining({ trouble: "unavailable" }));
    expect(readdirSync(bench.path)).toEqual([]);
  });

  test("makes an empty file a log", () => {
    writeFileSync(logFile(bench.path), "");
    expect(bench.log().head().position).toBe(0);
  });

  test("makes files that only this user can read", async () => {
    const path = join(bench.path, "deep", "er");
    const log = bench.closing(openTestLog(path));
    await record(log, appendOf(write("s", "any", said("private"))));
    for (const name of readdirSync(path))
      expect([name, statSync(join(path, name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(readdirSync(path)).toContain("log.db-wal");
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  test("syncs every commit, in a journal that readers do not wait for", () => {
    const db = Reflect.get(bench.log(), "db") as Database.Database; // Settings of the connection itself.
    const full = 2;
    expect(db.pragma("synchronous", { simple: true })).toBe(full);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
  });

  test("leaves nothing behind when it is closed but the log", async () => {
    const log = bench.log();
    await record(log, appendOf(write("s", "any", said("hello"))));
    log.close();
    expect(readdirSync(bench.path)).toEqual(["log.db"]);
  });
});
