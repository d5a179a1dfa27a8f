import {
  accept,
  day,
  minute,
  nothing,
  refuse,
  refuseText,
  toInstant,
  toTimestamp,
  type Decision,
  type Fact,
  type Instant,
  type NewFact,
  type Timestamp,
} from "../shared/index.js";

const pairingMillis = 10 * minute;
/** A new code beyond these takes the place of the oldest. */
export const livePairingsMax = 3;
const tokenMillis = 30 * day;
/** From then on a device should ask for a new token. */
const renewAfterMillis = 15 * day;
/** How long the old token of a rotation is good for, if the new one is not used before. */
const overlapMillis = 10 * minute;
const deviceNameBytesMax = 200;

/** The owner's devices: who may speak to us, and with which tokens. */
export interface Devices {
  /** Codes that are not used yet, the newest last. */
  readonly pairings: readonly Pairing[];
  readonly devices: ReadonlyMap<string, Device>;
}

interface Pairing {
  readonly id: string;
  /** The device that asked for it; null if the operator did. */
  readonly createdBy: string | null;
  readonly expiresAt: Instant;
}

type Device = ActiveDevice | { readonly status: "revoked" };

interface ActiveDevice {
  readonly status: "active";
  /** The newest last. */
  readonly tokens: readonly Token[];
}

interface Token {
  readonly id: string;
  readonly expiresAt: Instant;
  readonly replaces: string | null;
}

export const initialDevices: Devices = { pairings: [], devices: new Map() };

export function evolveDevices(state: Devices, fact: Fact): Devices {
  if (fact.value === null) return state; // None of those below is ever erased.
  switch (fact.case) {
    case "pairingCodeCreated": {
      const { pairingId: id, expiresAt, createdByDeviceId } = fact.value;
      const pairing = { id, createdBy: createdByDeviceId || null, expiresAt: momentOf(expiresAt) };
      return { ...state, pairings: [...state.pairings, pairing].slice(-livePairingsMax) };
    }
    case "devicePaired": {
      const { pairingId, deviceId } = fact.value;
      const pairings = state.pairings.filter(({ id }) => id !== pairingId);
      return { pairings, devices: withDevice(state, deviceId, { status: "active", tokens: [] }) };
    }
    case "deviceRevoked": {
      const { deviceId } = fact.value;
      // Otherwise it would come back by a code that it has made before.
      const pairings = state.pairings.filter(({ createdBy }) => createdBy !== deviceId);
      return { pairings, devices: withDevice(state, deviceId, { status: "revoked" }) };
    }
    case "tokenIssued": {
      const { tokenId: id, deviceId, expiresAt, replacesTokenId } = fact.value;
      const token = { id, expiresAt: momentOf(expiresAt), replaces: replacesTokenId === "" ? null : replacesTokenId };
      return changeTokens(state, deviceId, (tokens) => [...tokens, token]);
    }
    case "tokenRevoked": {
      const { tokenId, deviceId } = fact.value;
      return changeTokens(state, deviceId, (tokens) => tokens.filter(({ id }) => id !== tokenId));
    }
    default:
      return state;
  }
}

export function createPairingCode(
  state: Devices,
  pairingId: string,
  createdByDeviceId: string | null,
  at: Instant,
): Decision {
  const isActive = createdByDeviceId === null || state.devices.get(createdByDeviceId)?.status === "active";
  if (!isActive) return refuse("device_revoked");
  const expiresAt = toTimestamp(at + pairingMillis);
  return accept({
    case: "pairingCodeCreated",
    value: { pairingId, expiresAt, createdByDeviceId: createdByDeviceId ?? "" },
  });
}

export interface Binding {
  /** Which code was meant; null when it was none of those that wait. */
  readonly pairingId: string | null;
  readonly deviceId: string;
  readonly tokenId: string;
  readonly name: string;
  readonly publicKey: string;
  readonly activeDevicesMax: number;
}

/** Whoever is one too many after this, the longest paired first, is revoked. */
export function bindPairingCode(state: Devices, binding: Binding, at: Instant): Decision {
  const { pairingId, deviceId, tokenId, name, publicKey } = binding;
  const pairing = state.pairings.find(({ id }) => id === pairingId);
  if (pairing === undefined || pairing.expiresAt <= at) return refuse("pairing_code_invalid");
  const badName = refuseText(name, deviceNameBytesMax);
  if (badName !== null) return badName;
  const active = [...state.devices].filter(([, device]) => device.status === "active").map(([id]) => id);
  const tooMany = active.slice(0, Math.max(0, active.length - (binding.activeDevicesMax - 1)));
  return accept(
    ...tooMany.map((replaced): NewFact => ({
      case: "deviceRevoked",
      value: { deviceId: replaced, reason: "replaced" },
    })),
    { case: "devicePaired", value: { deviceId, name, publicKey, pairingId: pairing.id } },
    tokenIssued(deviceId, tokenId, at),
  );
}

/** Asked again with the same token, because the answer was lost: the token that nobody received is revoked. */
export function rotateToken(
  state: Devices,
  deviceId: string,
  tokenId: string,
  newTokenId: string,
  at: Instant,
): Decision {
  const device = state.devices.get(deviceId);
  if (device?.status !== "active") return refuse("device_revoked");
  const replaced = device.tokens.find(({ id }) => id === tokenId);
  if (replaced === undefined) return refuse("unauthenticated");
  const lost = device.tokens.filter(({ replaces }) => replaces === tokenId);
  return accept(...lost.map(({ id }) => tokenRevoked(deviceId, id)), tokenIssued(deviceId, newTokenId, at, replaced));
}

/** The new token arrived: the one it replaces has had its time. */
export function confirmToken(state: Devices, deviceId: string, tokenId: string): Decision {
  const device = state.devices.get(deviceId);
  if (device?.status !== "active") return nothing;
  const { replaces } = device.tokens.find(({ id }) => id === tokenId) ?? {};
  const isStillThere = device.tokens.some(({ id }) => id === replaces);
  return isStillThere && typeof replaces === "string" ? accept(tokenRevoked(deviceId, replaces)) : nothing;
}

export function revokeDevice(state: Devices, deviceId: string): Decision {
  const device = state.devices.get(deviceId);
  if (device === undefined) return refuse("device_not_found");
  switch (device.status) {
    case "active":
      return accept({ case: "deviceRevoked", value: { deviceId, reason: "owner" } });
    case "revoked":
      return nothing; // A repeat is not news.
  }
}

/** Which secrets nobody needs any more once these facts are recorded: codes that are used or replaced, dead tokens. */
export function obsoleteSecrets(state: Devices, facts: readonly NewFact[]): string[] {
  return facts.flatMap((fact) => {
    switch (fact.case) {
      case "pairingCodeCreated":
        return state.pairings.slice(0, -(livePairingsMax - 1)).map(({ id }) => id);
      case "devicePaired":
        return [fact.value.pairingId ?? ""];
      case "deviceRevoked": {
        const { deviceId = "" } = fact.value;
        const device = state.devices.get(deviceId);
        const codes = state.pairings.filter(({ createdBy }) => createdBy === deviceId);
        return [...(device?.status === "active" ? device.tokens : []), ...codes].map(({ id }) => id);
      }
      case "tokenRevoked":
        return [fact.value.tokenId ?? ""];
      default:
        return [];
    }
  });
}

function momentOf(timestamp: Timestamp | undefined): Instant {
  return timestamp === undefined ? 0 : toInstant(timestamp);
}

function tokenIssued(deviceId: string, tokenId: string, at: Instant, replaced?: Token): NewFact {
  return {
    case: "tokenIssued",
    value: {
      tokenId,
      deviceId,
      expiresAt: toTimestamp(at + tokenMillis),
      renewAfter: toTimestamp(at + renewAfterMillis),
      ...(replaced !== undefined && {
        replacesTokenId: replaced.id,
        replacedValidUntil: toTimestamp(Math.min(at + overlapMillis, replaced.expiresAt)),
      }),
    },
  };
}

function tokenRevoked(deviceId: string, tokenId: string): NewFact {
  return { case: "tokenRevoked", value: { tokenId, deviceId, reason: "rotated" } };
}

function withDevice({ devices }: Devices, deviceId: string, device: Device): ReadonlyMap<string, Device> {
  return new Map([...devices, [deviceId, device]]);
}

function changeTokens(
  state: Devices,
  deviceId: string,
  change: (tokens: readonly Token[]) => readonly Token[],
): Devices {
  const device = state.devices.get(deviceId);
  if (device?.status !== "active") return state;
  return { ...state, devices: withDevice(state, deviceId, { ...device, tokens: change(device.tokens) }) };
}
