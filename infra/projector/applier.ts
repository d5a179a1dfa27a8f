import type { RecordedEvent } from "../../domain/shared/index.js";
import type { Handler, Projection } from "../../projections/shared/projection.js";
import { eventTypes, type LogReader } from "../event-log/index.js";
import type { ReadModelStore } from "./store.js";
import { TableWriter, type Naming } from "./table-writer.js";

/** Events to apply, and how far the log was read to find them. */
interface Portion {
  readonly events: readonly RecordedEvent[];
  readonly throughPosition: number;
}

/** Reads the log for some projections, leaving out what none of them handles: most of a log is text deltas. */
export function readerFor(
  log: LogReader,
  projections: readonly Projection[],
): (afterPosition: number, throughPosition: number) => Portion {
  const handled = new Set(projections.flatMap((projection) => Object.keys(projection.on)));
  const read = log.except([...eventTypes].filter((type) => !handled.has(type)));
  return (afterPosition, throughPosition) => {
    const fresh = log.fresh(afterPosition);
    if (fresh !== null) {
      return { events: fresh.filter(({ type }) => handled.has(type)), throughPosition: afterPosition + fresh.length };
    }
    const page = read(afterPosition, throughPosition);
    return { events: page.events.map((row) => log.decode(row)), throughPosition: page.throughPosition };
  };
}

/** Applies events to the tables of some projections. Always called inside the store's transaction. */
export class Applier {
  readonly #writer: TableWriter;

  constructor(store: ReadModelStore, naming: Naming) {
    this.#writer = new TableWriter(store.db, naming);
  }

  /** Answers which projections took notice. */
  apply(event: RecordedEvent, projections: readonly Projection[]): Projection[] {
    return projections.filter((projection) => {
      const handler = projection.on[event.type] as Handler | undefined;
      if (handler === undefined) return false;
      try {
        handler(event, this.#writer);
      } catch (cause) {
        throw new Error(`projection ${projection.name} failed at position ${event.position} of the log`, {
          cause,
        });
      }
      return true;
    });
  }
}
