import { afterAll, afterEach, beforeEach } from "@jest/globals";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { SqliteEventLog } from "../../infra/event-log/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import { openBackend, openTestLog, temporaryDirectory, type Backend } from "./backend.js";

/** A directory for each test, and whatever was opened in it; all of it is closed after the test, and gone in the end. */
export interface Workbench {
  readonly path: string;
  /** Opens the log, as another process would if it is open already. */
  log(): SqliteEventLog;
  backend(projections?: readonly Projection[]): Promise<Backend>;
  /** Another directory, empty. */
  elsewhere(name: string): string;
  /** Closes this when the test is over, whatever came of it. */
  closing<T extends { close(): void }>(opened: T): T;
}

export function workbench(): Workbench {
  let directory: ReturnType<typeof temporaryDirectory>;
  const used: (typeof directory)[] = [];
  let opened: { close(): void }[] = [];

  beforeEach(() => {
    directory = temporaryDirectory();
    used.push(directory);
  });
  afterEach(() => {
    for (const thing of opened.reverse()) thing.close();
    opened = [];
  });
  // Not after each: hooks run in the order they are written, and a server that loses its files under it fails.
  afterAll(() => {
    for (const one of used) one.remove();
  });

  const closing = <T extends { close(): void }>(thing: T): T => {
    opened.push(thing);
    return thing;
  };
  return {
    get path() {
      return directory.path;
    },
    log: () => closing(openTestLog(directory.path)),
    backend: async (projections) => closing(await openBackend(directory.path, projections)),
    elsewhere: (name) => {
      const path = join(directory.path, name);
      mkdirSync(path);
      return path;
    },
    closing,
  };
}
