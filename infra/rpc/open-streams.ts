import { Code, ConnectError } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import type { Subscription } from "rxjs";
import type { Clock, ReadModels } from "../../commands/ports/index.js";
import { refuse } from "../../domain/shared/index.js";
import { isActiveDevice } from "../../read-models/devices/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { Sessions } from "../auth/sessions.js";
import type { LogReader } from "../event-log/index.js";
import type { Caller, Peer } from "./caller.js";
import { toConnectError } from "./refusal.js";

const streamsPerDeviceMax = 100;
/** A stream that is told to end may say why. One whose reader has stopped cannot, and is cut off. */
const lastWordsMillis = 50;
/** How often a stream looks whether its token has expired: a timer does not follow a clock that is set, or that slept. */
const expiryLookMillis = 60_000;

interface OpenStream {
  readonly caller: Caller;
  /** How many events it has still to be sent. */
  readonly behind: () => number;
  end(why: ConnectError): void;
}

/** Every stream that is open, so that it can be ended: its device revoked, its token expired, the server stopping. */
export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  readonly #changes: Subscription;
  #isStopping = false;

  constructor(
    private readonly log: LogReader,
    private readonly readModels: ReadModels,
    private readonly query: Kysely<ReadModelTables>,
    private readonly clock: Clock,
    sessions: Sessions,
  ) {
    this.#changes = sessions.changed.subscribe(() => {
      this.#endRevoked().catch(() => undefined); // The read models have stopped, and the server ends with them.
    });
  }

  get size(): number {
    return this.#open.size;
  }

  /** How many events the slowest of them has still to be sent. */
  get behindMax(): number {
    return Math.max(0, ...[...this.#open].map(({ behind }) => behind()));
  }

  /**
   * Aborts when the stream must end, with what the client shall be told; or when `left` does, because it has gone.
   * Then it counts no more: also one that is stuck in the middle of a write.
   */
  open(caller: Caller, peer: Peer | null, left: AbortSignal, behind: () => number): AbortSignal {
    if (this.#isStopping) throw stopping();
    if (!this.#isStillGood(caller)) throw toConnectError(refuse("unauthenticated"));
    if (this.#countOf(caller) >= streamsPerDeviceMax) {
      throw toConnectError(refuse("too_many_streams", { streamsPerDeviceMax }));
    }
    const ending = new AbortController();
    const stream: OpenStream = {
      caller,
      behind,
      end: (why) => {
        if (ending.signal.aborted) return;
        ending.abort(why);
        setTimeout(() => peer?.cutOff(), lastWordsMillis).unref();
      },
    };
    const forgetExpiry = this.#planExpiry(stream);
    const close = () => {
      forgetExpiry();
      this.#open.delete(stream);
      ending.abort(null); // Without a reason it would be an error.
    };
    this.#open.add(stream);
    left.addEventListener("abort", close, { once: true });
    if (left.aborted) close();
    return ending.signal;
  }

  /** Ends them all in a way that tells clients to come back. */
  stop(): void {
    this.#isStopping = true;
    this.#changes.unsubscribe();
    for (const stream of this.#open) stream.end(stopping());
  }

  #countOf(caller: Caller): number {
    if (caller.kind === "operator") return 0;
    const isSame = (other: Caller) => other.kind === "device" && other.session.deviceId === caller.session.deviceId;
    return [...this.#open].filter((stream) => isSame(stream.caller)).length;
  }

  /** Who it is was found out when the call began. What it asks for may come much later. */
  #isStillGood(caller: Caller): boolean {
    if (caller.kind === "operator") return true;
    const { tokenId, validUntil } = caller.session;
    return validUntil > this.clock.now() && this.log.secret(tokenId) !== null;
  }

  /** Looks again and again, at the latest when the token should have expired. */
  #planExpiry(stream: OpenStream): () => void {
    const { caller } = stream;
    if (caller.kind === "operator") return () => undefined;
    const { expiresAt } = caller.session;
    let timer: NodeJS.Timeout | undefined;
    const look = () => {
      const millis = expiresAt - this.clock.now();
      if (millis <= 0) stream.end(toConnectError(refuse("unauthenticated")));
      else timer = setTimeout(look, Math.min(millis, expiryLookMillis)).unref();
    };
    look();
    return () => {
      clearTimeout(timer);
    };
  }

  async #endRevoked(): Promise<void> {
    await this.readModels.reached(this.log.head().position);
    const deviceIds = new Set(
      [...this.#open].flatMap(({ caller }) => (caller.kind === "device" ? [caller.session.deviceId] : [])),
    );
    for (const deviceId of deviceIds) {
      if (await isActiveDevice(this.query, deviceId)) continue;
      for (const stream of this.#open) {
        const isOfDevice = stream.caller.kind === "device" && stream.caller.session.deviceId === deviceId;
        if (isOfDevice) stream.end(toConnectError(refuse("device_revoked")));
      }
    }
  }
}

function stopping(): ConnectError {
  return new ConnectError("the server is stopping", Code.Unavailable);
}
