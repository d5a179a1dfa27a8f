import { existsSync } from "node:fs";
import Database from "better-sqlite3";
import { createBookkeeping, readCheckpoints, requireBookkeeping, type Checkpoint } from "./bookkeeping.js";

/** The tables and checkpoints as they are now, whatever is written meanwhile. It cannot change them. */
export class ReadModelView {
  readonly #checkpoints: ReadonlyMap<string, Checkpoint>;

  private constructor(
    readonly file: string,
    readonly db: Database.Database,
  ) {
    this.#checkpoints = readCheckpoints(db);
  }

  /** Whoever opens a view closes it. Where there is no file, nothing has been built yet. */
  static open(file: string): ReadModelView {
    const exists = existsSync(file);
    const db = exists ? new Database(file, { readonly: true }) : new Database(":memory:");
    try {
      if (!exists) createBookkeeping(db);
      db.exec("BEGIN");
      requireBookkeeping(db);
      return new ReadModelView(file, db);
    } catch (error) {
      db.close();
      throw error;
    }
  }

  checkpoints(): ReadonlyMap<string, Checkpoint> {
    return this.#checkpoints;
  }

  close(): void {
    this.db.close();
  }
}
