import { describe, expect, test } from "@jest/globals";
import {
  bindPairingCode,
  confirmToken,
  createPairingCode,
  evolveDevices,
  initialDevices,
  obsoleteSecrets,
  revokeDevice,
  rotateToken,
  type Binding,
} from "../../../domain/devices/index.js";
import { codeCreated, issued, paired, revoked, tokenRevoked } from "../../support/devices.js";
import { given } from "../../support/given.js";

const devices = { initial: initialDevices, evolve: evolveDevices };
const noon = Date.UTC(2026, 0, 1, 12);
const minute = 60_000;
const day = 24 * 60 * minute;

function binding(overrides: Partial<Binding> = {}): Binding {
  return {
    pairingId: "p1",
    deviceId: "d1",
    tokenId: "t1",
    name: "phone",
    publicKey: "",
    activeDevicesMax: 1,
    ...overrides,
  };
}

const pairedWithToken = [codeCreated("p1", noon), paired("d1", "p1"), issued("d1", "t1", noon)] as const;

describe("a pairing code", () => {
  test("is good for ten minutes", () => {
    given(devices)
      .when(createPairingCode, "p1", null, noon)
      .thenRecords(codeCreated("p1", noon + 10 * minute));
  });

  test("lets a device in, with a token of thirty days", () => {
    given(devices, codeCreated("p1", noon + 1))
      .when(bindPairingCode, binding(), noon)
      .thenRecords(paired("d1", "p1"), issued("d1", "t1", noon));
  });

  test("is nothing once it has expired, to the millisecond", () => {
    given(devices, codeCreated("p1", noon)).when(bindPairingCode, binding(), noon).thenRefuses("pairing_code_invalid");
  });

  test("works once", () => {
    given(devices, ...pairedWithToken)
      .when(bindPairingCode, binding({ deviceId: "d2", tokenId: "t2" }), noon - 1)
      .thenRefuses("pairing_code_invalid");
  });

  test("that nobody made is refused", () => {
    given(devices, codeCreated("p1", noon + 1))
      .when(bindPairingCode, binding({ pairingId: null }), noon)
      .thenRefuses("pairing_code_invalid");
  });

  test("gives way when there are three newer ones", () => {
    const later = noon + minute;
    const four = ["p1", "p2", "p3", "p4"].map((id) => codeCreated(id, later));
    given(devices, ...four)
      .when(bindPairingCode, binding(), noon)
      .thenRefuses("pairing_code_invalid");
    given(devices, ...four)
      .when(bindPairingCode, binding({ pairingId: "p2" }), noon)
      .thenRecords(paired("d1", "p2"), issued("d1", "t1", noon));
  });
});

describe("a device", () => {
  test("takes the place of the one before", () => {
    given(devices, ...pairedWithToken, codeCreated("p2", noon + 1))
      .when(bindPairingCode, binding({ pairingId: "p2", deviceId: "d2", tokenId: "t2" }), noon)
      .thenRecords(revoked("d1", "replaced"), paired("d2", "p2"), issued("d2", "t2", noon));
  });

  test("may be one of several, and the longest paired goes first", () => {
    given(devices, ...pairedWithToken, paired("d2", "p2"), codeCreated("p3", noon + 1))
      .when(bindPairingCode, binding({ pairingId: "p3", deviceId: "d3", tokenId: "t3", activeDevicesMax: 2 }), noon)
      .thenRecords(revoked("d1", "replaced"), paired("d3", "p3"), issued("d3", "t3", noon));
  });

  test("has a name that is not too long", () => {
    given(devices, codeCreated("p1", noon + 1))
      .when(bindPairingCode, binding({ name: "é".repeat(101) }), noon)
      .thenRefuses("text_too_long", { textBytes: 202, textBytesMax: 200 });
  });

  test("is revoked once", () => {
    given(devices, ...pairedWithToken)
      .when(revokeDevice, "d1")
      .thenRecords(revoked("d1"))
      .when(revokeDevice, "d1")
      .thenDoesNothing();
  });

  test("that was never paired cannot be revoked", () => {
    given(devices).when(revokeDevice, "d1").thenRefuses("device_not_found");
  });
});

describe("a revoked device does not come back", () => {
  const itsCode = codeCreated("p2", noon + 1, "d1");

  test("by a code that it has made before", () => {
    for (const reason of ["owner", "replaced"]) {
      given(devices, ...pairedWithToken, itsCode, revoked("d1", reason))
        .when(bindPairingCode, binding({ pairingId: "p2", deviceId: "d2", tokenId: "t2" }), noon)
        .thenRefuses("pairing_code_invalid");
    }
    const { state } = given(devices, ...pairedWithToken, itsCode);
    expect(obsoleteSecrets(state, [revoked("d1")])).toEqual(["t1", "p2"]);
  });

  test("by a code that it makes now", () => {
    given(devices, ...pairedWithToken, revoked("d1"))
      .when(createPairingCode, "p2", "d1", noon)
      .thenRefuses("device_revoked");
  });

  test("while another's code stays good", () => {
    given(devices, ...pairedWithToken, codeCreated("p2", noon + 1), revoked("d1"))
      .when(bindPairingCode, binding({ pairingId: "p2", deviceId: "d2", tokenId: "t2" }), noon)
      .thenRecords(paired("d2", "p2"), issued("d2", "t2", noon));
  });
});

describe("a token", () => {
  const overlapEnd = noon + 10 * minute;

  test("is replaced by a new one, and stays good for ten minutes", () => {
    given(devices, ...pairedWithToken)
      .when(rotateToken, "d1", "t1", "t2", noon)
      .thenRecords(issued("d1", "t2", noon, { tokenId: "t1", validUntil: overlapEnd }));
  });

  test("does not live longer because it was replaced", () => {
    const end = noon + 30 * day;
    given(devices, ...pairedWithToken)
      .when(rotateToken, "d1", "t1", "t2", end - minute)
      .thenRecords(issued("d1", "t2", end - minute, { tokenId: "t1", validUntil: end }));
  });

  test("replaced again, because the answer was lost: what was lost is dead", () => {
    given(devices, ...pairedWithToken, issued("d1", "t2", noon, { tokenId: "t1", validUntil: overlapEnd }))
      .when(rotateToken, "d1", "t1", "t3", noon)
      .thenRecords(tokenRevoked("d1", "t2"), issued("d1", "t3", noon, { tokenId: "t1", validUntil: overlapEnd }));
  });

  test("is dead once its successor was used", () => {
    given(devices, ...pairedWithToken, issued("d1", "t2", noon, { tokenId: "t1", validUntil: overlapEnd }))
      .when(confirmToken, "d1", "t2")
      .thenRecords(tokenRevoked("d1", "t1"))
      .when(confirmToken, "d1", "t2")
      .thenDoesNothing();
  });

  test("without a predecessor has nothing to confirm", () => {
    given(devices, ...pairedWithToken)
      .when(confirmToken, "d1", "t1")
      .thenDoesNothing();
  });

  test("of a revoked device is not replaced", () => {
    given(devices, ...pairedWithToken, revoked("d1"))
      .when(rotateToken, "d1", "t1", "t2", noon)
      .thenRefuses("device_revoked");
    given(devices, ...pairedWithToken, revoked("d1"))
      .when(confirmToken, "d1", "t1")
      .thenDoesNothing();
  });

  test("that is dead is not replaced", () => {
    given(devices, ...pairedWithToken, tokenRevoked("d1", "t1"))
      .when(rotateToken, "d1", "t1", "t2", noon)
      .thenRefuses("unauthenticated");
  });
});

test("secrets are forgotten with what they were for", () => {
  const { state } = given(devices, ...pairedWithToken, ...["p2", "p3", "p4"].map((id) => codeCreated(id, noon)));
  expect(obsoleteSecrets(state, [codeCreated("p5", noon)])).toEqual(["p2"]);
  expect(obsoleteSecrets(state, [revoked("d1"), paired("d2", "p3")])).toEqual(["t1", "p3"]);
  expect(obsoleteSecrets(state, [tokenRevoked("d1", "t1"), issued("d1", "t2", noon)])).toEqual(["t1"]);
});
