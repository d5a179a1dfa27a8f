import { refuse } from "../../domain/shared/index.js";
import {
  endTurn,
  evolveThread,
  evolveTurnQueue,
  initialThread,
  initialTurnQueue,
  turnFailed,
} from "../../domain/threads/index.js";
import { handle, type Handled } from "../handle.js";
import { threadStream, turnsStream } from "./streams.js";
import type { TurnPlace, TurnPorts } from "./turn-ports.js";
import { turnWrites } from "./turn-writes.js";

/** Ends a turn that cannot be carried out, so that those behind it can. */
export function abandonTurn(ports: TurnPorts, place: TurnPlace): Promise<Handled> {
  const failed = turnFailed("TURN_LOST", true);
  return handle(ports, {
    at: ports.clock.now(),
    decide: (load) => {
      const thread = load(threadStream(place.threadId), initialThread, evolveThread);
      const queue = load(turnsStream(place.threadId), initialTurnQueue, evolveTurnQueue);
      if (thread.status === "deleted") return refuse("thread_deleted");
      if (queue.active?.turnId !== place.turnId) return refuse("turn_not_active");
      return turnWrites(place, endTurn(queue, failed), { model: "", causationId: place.turnId });
    },
  });
}
