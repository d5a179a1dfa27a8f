import type { Kysely } from "kysely";
import { Subject, type Observable, type Subscription } from "rxjs";
import type { Clock, ReadModels } from "../../commands/ports/index.js";
import type { EventType, Instant } from "../../domain/shared/index.js";
import { findToken } from "../../read-models/devices/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { LogReader } from "../event-log/index.js";
import { isSame, readBearer } from "./bearer.js";

const sessionsRememberedMax = 1_000;
const changing: ReadonlySet<EventType> = new Set(["devicePaired", "deviceRevoked", "tokenIssued", "tokenRevoked"]);

/** A device that has shown a good token. */
export interface Session {
  readonly deviceId: string;
  readonly tokenId: string;
  /** When requests with it are refused. */
  readonly validUntil: Instant;
  /** When streams that were opened with it end, even if it was replaced by another meanwhile. */
  readonly expiresAt: Instant;
  /** The token that this one was issued in place of, until it was used for the first time. */
  readonly replacesTokenId: string | null;
}

/** Who is who, by bearer token. Remembers what it looked up until anything about devices changes. */
export class Sessions {
  readonly #known = new Map<string, { readonly session: Session; readonly hash: Uint8Array }>();
  readonly #changed = new Subject<void>();
  readonly #growth: Subscription;
  #seenPosition: number;

  constructor(
    private readonly log: LogReader,
    private readonly readModels: ReadModels,
    private readonly query: Kysely<ReadModelTables>,
    private readonly clock: Clock,
  ) {
    this.#seenPosition = log.head().position;
    this.#growth = log.grown.subscribe({
      next: (position) => {
        this.#look(position);
      },
      error: () => undefined, // The server ends with it; there is nobody left to recognise.
    });
  }

  /** Emits whenever a session may have ended. */
  get changed(): Observable<void> {
    return this.#changed;
  }

  async authenticate(authorization: string | null): Promise<Session | null> {
    const presented = readBearer(authorization);
    if (presented === null) return null;
    const known = this.#known.get(presented.tokenId) ?? (await this.#lookUp(presented.tokenId));
    if (known === null || !isSame(known.hash, presented.hash)) return null;
    return known.session.validUntil > this.clock.now() ? known.session : null;
  }

  close(): void {
    this.#growth.unsubscribe();
    this.#changed.complete();
  }

  async #lookUp(tokenId: string): Promise<{ session: Session; hash: Uint8Array } | null> {
    const position = this.#seenPosition;
    await this.readModels.reached(this.log.head().position);
    const row = await findToken(this.query, tokenId);
    const hash = this.log.secret(tokenId);
    if (row === undefined || hash === null) return null;
    const session = {
      deviceId: row.device_id,
      tokenId,
      validUntil: Date.parse(row.valid_until),
      expiresAt: Date.parse(row.expires_at),
      replacesTokenId: row.replaces_token_id,
    };
    if (this.#known.size >= sessionsRememberedMax) this.#known.clear();
    // What was looked up while something changed is good for this once, and not remembered.
    if (position === this.#seenPosition) this.#known.set(tokenId, { session, hash });
    return { session, hash };
  }

  #look(position: number): void {
    const fresh = this.log.fresh(this.#seenPosition);
    this.#seenPosition = position;
    // What another process has written is not told: it may be anything.
    if (fresh !== null && !fresh.events.some(({ type }) => changing.has(type))) return;
    this.#known.clear();
    this.#changed.next();
  }
}
