import { join } from "node:path";
import Database from "better-sqlite3";
import { makePrivateDirectory, withPrivateUmask } from "../files/private.js";
import { LogError, sqliteCode } from "./errors.js";

/**
 * One server at a time may serve a directory; the command line may write beside it. The lock is that of an SQLite file
 * with nothing in it: the system releases it with the process, however that ends. Answers how to release it.
 */
export function lockForServing(dataDirectory: string): () => void {
  makePrivateDirectory(dataDirectory);
  const file = join(dataDirectory, "serving.lock");
  const db = withPrivateUmask(() => new Database(file, { timeout: 0 }));
  try {
    db.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if (!sqliteCode(error).startsWith("SQLITE_BUSY")) throw error;
    throw new LogError("unavailable", file, null, "another server is running on this directory", { cause: error });
  }
  return () => {
    db.close();
  };
}
