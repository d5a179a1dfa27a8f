import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { Handling } from "../../commands/handle.js";
import type { Append, Ids, Provenance } from "../../commands/ports/index.js";
import type { NewFact } from "../../domain/shared/index.js";
import { openLog, systemEntropy, type SqliteEventLog } from "../../infra/event-log/index.js";
import { systemIds } from "../../infra/ports/system-ids.js";
import { Projector, ReadModelStore } from "../../infra/projector/index.js";
import { projections as allProjections } from "../../projections/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import { ContentTrust, EventSource } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ActorKind } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";

export const quiet = pino({ enabled: false });

export const fromOwner: Provenance = {
  source: EventSource.SYSTEM,
  contentTrust: ContentTrust.TRUSTED_SYSTEM,
  actor: { kind: ActorKind.DEVICE, id: "device-1" },
};

/** A directory of its own, gone with `remove`. */
export function temporaryDirectory(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "pincer-test-"));
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export function openTestLog(directory: string): SqliteEventLog {
  return openLog(directory, systemEntropy(systemIds));
}

/** Log, read models and projector on real files: all of the backend below the protocol. */
export interface Backend extends Handling {
  readonly log: SqliteEventLog;
  readonly store: ReadModelStore;
  readonly projector: Projector;
  readonly ids: Ids;
  close(): void;
}

export function openBackend(directory: string, projections?: readonly Projection[]): Promise<Backend> {
  return openBackendOn(openTestLog(directory), directory, projections);
}

/** The rest of the backend, on a log that is open already. */
export async function openBackendOn(
  log: SqliteEventLog,
  directory: string,
  projections: readonly Projection[] = allProjections,
): Promise<Backend> {
  const store = ReadModelStore.open(directory, quiet);
  const projector = new Projector(log, store, projections, quiet);
  await projector.start();
  return {
    log,
    store,
    projector,
    readModels: projector,
    ids: systemIds,
    close: () => {
      projector.close();
      store.close();
      log.close();
    },
  };
}

/** An append to one stream that expects nothing, for tests that are not about expectations. */
export function appendTo(stream: string, threadId: string | null, ...facts: NewFact[]): Append {
  return {
    occurredAt: Date.UTC(2026, 0, 1),
    writes: [{ stream, expected: "any", threadId, facts, provenance: fromOwner }],
  };
}
