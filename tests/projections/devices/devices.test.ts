import { describe, expect, test } from "@jest/globals";
import {
  findToken,
  isActiveDevice,
  listDevices,
  listFailedAttempts,
  listOpenPairingCodes,
} from "../../../read-models/devices/index.js";
import type { NewFact } from "../../../domain/shared/index.js";
import { appendOf, noon, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { differences } from "../../support/conversation.js";
import { codeCreated, issued, paired, revoked, tokenRevoked } from "../../support/devices.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();
const first = { beforePosition: Infinity, limit: 10 };
const textOf = (at: number) => new Date(at).toISOString();

/** Each fact a second after the one before. */
async function after(...facts: readonly NewFact[]): Promise<Backend> {
  const backend = await bench.backend();
  for (const [index, fact] of facts.entries()) {
    await record(backend.log, {
      ...appendOf({ ...write("devices", "any", fact), threadId: null }),
      occurredAt: noon + index * 1_000,
    });
  }
  expect(await differences(backend)).toEqual([]);
  return backend;
}

describe("the devices", () => {
  test("are listed with what became of them, the newest first", async () => {
    const seen: NewFact = { case: "deviceSeen", value: { deviceId: "d2" } };
    const { store } = await after(paired("d1", "p1"), revoked("d1", "replaced"), paired("d2", "p2", "tablet"), seen);
    expect(await listDevices(store.query, first)).toMatchObject([
      { device_id: "d2", name: "tablet", revoked_at: null, last_used_at: textOf(noon + 3_000) },
      { device_id: "d1", revoked_at: textOf(noon + 1_000), revoked_reason: "replaced", last_used_at: null },
    ]);
    expect(await isActiveDevice(store.query, "d2")).toBe(true);
    expect(await isActiveDevice(store.query, "d1")).toBe(false);
    expect(await isActiveDevice(store.query, "nobody")).toBe(false);
  });
});

describe("the tokens", () => {
  test("are good until they expire, or until they have been replaced for a while", async () => {
    const replaced = { tokenId: "t1", validUntil: noon + 60_000 };
    const { store } = await after(
      paired("d1", "p1"),
      issued("d1", "t1", noon),
      issued("d1", "t2", noon + 5_000, replaced),
    );
    expect(await findToken(store.query, "t1")).toMatchObject({
      valid_until: textOf(noon + 60_000),
      replaces_token_id: null,
    });
    expect(await findToken(store.query, "t2")).toMatchObject({ device_id: "d1", replaces_token_id: "t1" });
  });

  test("are gone with their device, and when they are revoked", async () => {
    const { store } = await after(
      ...[paired("d1", "p1"), issued("d1", "t1", noon), issued("d1", "t2", noon), tokenRevoked("d1", "t1")],
      ...[paired("d2", "p2"), issued("d2", "t3", noon), revoked("d2")],
    );
    expect(
      await Promise.all(["t1", "t2", "t3"].map(async (id) => (await findToken(store.query, id)) !== undefined)),
    ).toEqual([false, true, false]);
  });
});

describe("the pairing codes", () => {
  test("are open until they are used or expired", async () => {
    const { store } = await after(
      ...[
        codeCreated("p1", noon + 1),
        codeCreated("p2", noon + 9_000),
        codeCreated("p3", noon + 9_000),
        paired("d", "p3"),
      ],
    );
    const open = await listOpenPairingCodes(store.query, { expiringAfter: textOf(noon + 1), limit: 10 });
    expect(open.map(({ pairing_id: id }) => id)).toEqual(["p2"]);
  });

  test("that were guessed wrong are remembered in their order", async () => {
    const failed = (address: string): NewFact => ({ case: "pairingAttemptFailed", value: { reason: "x", address } });
    const { store } = await after(failed("a"), failed("b"), failed("c"));
    const attempts = await listFailedAttempts(store.query, { after: textOf(noon), limit: 10 });
    expect(attempts.map(({ address }) => address)).toEqual(["b", "c"]);
  });
});
