import type { RecordedEvent } from "../../domain/shared/index.js";
import type { Handler, Projection } from "../../projections/shared/projection.js";
import { eventTypes, type LogReader } from "../event-log/index.js";
import type { ReadModelStore } from "./store.js";
import { TableWriter, type Naming } from "./table-writer.js";

/** Few enough that requests get their turn between two portions of a rebuild. */
const portionEventsMax = 250;

/** Events to apply, and how far the log was read to find them. */
interface Portion {
  readonly events: readonly RecordedEvent[];
  readonly position: number;
  /** The hash of the event at that position. */
  readonly hash: string;
  /** Where reading ends for now. */
  readonly endPosition: number;
}

/**
 * Reads the log for some projections, leaving out what none of them handles: most of a log is text deltas.
 * It reads to the end of the log if it is not told where to stop.
 */
export function readerFor(
  log: LogReader,
  projections: readonly Projection[],
  through?: number,
): (afterPosition: number) => Portion {
  // Erasures concern the file, whether or not one of these projections handles them.
  const handled = new Set(["eventsErased", ...projections.flatMap((projection) => Object.keys(projection.on))]);
  const ignored = [...eventTypes].filter((type) => !handled.has(type));
  const read = log.except(ignored, portionEventsMax);
  return (afterPosition) => {
    const fresh = through === undefined ? log.fresh(afterPosition) : null;
    if (fresh !== null) {
      const { position, hash } = fresh.head;
      return { events: fresh.events.filter(({ type }) => handled.has(type)), position, hash, endPosition: position };
    }
    const endPosition = through ?? log.head().position;
    const page = read(afterPosition, endPosition);
    const position = page.throughPosition;
    const hash = log.hashAt(position) ?? "";
    return { events: page.events.map((row) => log.decode(row)), position, hash, endPosition };
  };
}

/** Applies events to the tables of some projections. Always called inside the store's transaction. */
export class Applier {
  readonly #writers = new Map<Projection, TableWriter>();

  constructor(
    private readonly store: ReadModelStore,
    private readonly naming: Naming,
  ) {}

  apply(event: RecordedEvent, projections: readonly Projection[]): void {
    if (event.type === "eventsErased") this.store.mustForget();
    for (const projection of projections) {
      const handler = projection.on[event.type] as Handler | undefined;
      try {
        handler?.(event, this.#writerFor(projection));
      } catch (cause) {
        const where = `projection ${projection.name} failed at position ${event.position} of the log`;
        throw new Error(`${where} (${String(cause)})`, { cause });
      }
    }
  }

  #writerFor(projection: Projection): TableWriter {
    let writer = this.#writers.get(projection);
    if (writer === undefined) {
      writer = new TableWriter(this.store.db, this.naming, projection.tables);
      this.#writers.set(projection, writer);
    }
    return writer;
  }
}
