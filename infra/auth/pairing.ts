import type { Kysely } from "kysely";
import { bindPairingCode } from "../../commands/devices/bind-pairing-code.js";
import { createPairingCode } from "../../commands/devices/create-pairing-code.js";
import { recordFailedAttempt } from "../../commands/devices/record-failed-attempt.js";
import type { Handled, Handling } from "../../commands/handle.js";
import type { Clock, Ids, Provenance, Secrets } from "../../commands/ports/index.js";
import {
  attemptsMax,
  attemptWindowMillis,
  livePairingsMax,
  refuseAttempt,
  type FailedAttempt,
} from "../../domain/devices/index.js";
import { refuse, toText, type Instant, type Refusal } from "../../domain/shared/index.js";
import { listFailedAttempts, listOpenPairingCodes } from "../../read-models/devices/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { isSame, issueToken } from "./bearer.js";
import { hashPairingCode, makePairingCode, readPairingCode } from "./pairing-code.js";
import { isPublicKey } from "./public-key.js";

export interface Newcomer {
  readonly code: string;
  readonly deviceName: string;
  readonly publicKey: string;
  /** Where it speaks from; those of one network count as one. */
  readonly address: string;
}

/** Makes codes, and lets in whoever knows one. Wrong guesses are few, slow, and on record. */
export class Pairing {
  /** Those that are being looked at right now count as failed: many at once are not more than one by one. */
  readonly #underway: FailedAttempt[] = [];

  constructor(
    private readonly handling: Handling,
    private readonly secrets: Secrets,
    private readonly query: Kysely<ReadModelTables>,
    private readonly ids: Ids,
    private readonly clock: Clock,
    private readonly activeDevicesMax: number,
  ) {}

  /** For a device that wants another one paired, or for the operator if it is null. */
  async createCode(
    createdBy: string | null,
    provenance: Provenance,
  ): Promise<{ readonly code: string; readonly handled: Handled }> {
    const pairingId = this.ids.next();
    const code = makePairingCode();
    const codeHash = hashPairingCode(pairingId, code);
    const at = this.clock.now();
    return {
      code,
      handled: await createPairingCode(this.handling, { pairingId, codeHash, createdBy, at, provenance }),
    };
  }

  /** The bearer token is in the answer, and nowhere else. */
  async bind(
    newcomer: Newcomer,
    provenanceOf: (deviceId: string) => Provenance,
  ): Promise<Refusal | { readonly bearer: string; readonly handled: Handled }> {
    const at = this.clock.now();
    const address = networkOf(newcomer.address);
    const attempt = { address, at };
    const before = [...this.#underway];
    this.#underway.push(attempt);
    try {
      const failed = await this.#failedSince(at - attemptWindowMillis);
      const limited = refuseAttempt([...failed, ...before], address, at);
      if (limited !== null) return limited;
      const deviceId = this.ids.next();
      const provenance = provenanceOf(deviceId);
      if (newcomer.publicKey !== "" && !isPublicKey(newcomer.publicKey)) {
        await recordFailedAttempt(this.handling, { reason: "public_key_invalid", address, at, provenance });
        return refuse("public_key_invalid");
      }
      const tokenId = this.ids.next();
      const { bearer, hash: tokenHash } = issueToken(tokenId);
      const handled = await bindPairingCode(this.handling, {
        pairingId: await this.#find(newcomer.code, at),
        deviceId,
        tokenId,
        tokenHash,
        name: newcomer.deviceName,
        publicKey: newcomer.publicKey,
        activeDevicesMax: this.activeDevicesMax,
        at,
        provenance,
      });
      if (handled.outcome === "done") return { bearer, handled };
      // On record before anybody hears of it: a restart does not give back a guess.
      await recordFailedAttempt(this.handling, { reason: handled.code, address, at, provenance });
      return handled;
    } finally {
      this.#underway.splice(this.#underway.indexOf(attempt), 1);
    }
  }

  async #failedSince(since: Instant): Promise<FailedAttempt[]> {
    const rows = await listFailedAttempts(this.query, { after: toText(since), limit: attemptsMax });
    return rows.map(({ address, occurred_at }) => ({ address, at: Date.parse(occurred_at) }));
  }

  /** Which of the open codes it is, if any. */
  async #find(typed: string, at: Instant): Promise<string | null> {
    const code = readPairingCode(typed);
    const open = await listOpenPairingCodes(this.query, { expiringAfter: toText(at), limit: livePairingsMax });
    if (code === null) return null;
    const found = open.find(({ pairing_id: pairingId }) => {
      const hash = this.secrets.secret(pairingId);
      return hash !== null && isSame(hash, hashPairingCode(pairingId, code));
    });
    return found?.pairing_id ?? null;
  }
}

/** An IPv6 network of 64 bits is one household: whoever has one address of it has them all. */
export function networkOf(address: string): string {
  const bare = address.replace(/^::ffff:(?=\d+\.)/, "");
  if (!bare.includes(":")) return bare;
  const [head = "", tail] = bare.split("::");
  const groups = head === "" ? [] : head.split(":");
  const tailGroups = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - tailGroups.length)).fill("0");
  return `${[...groups, ...zeros, ...tailGroups].slice(0, 4).join(":")}::/64`;
}
