import { accept, type Instant } from "../../domain/shared/index.js";
import { handle, type Handled, type Handling } from "../handle.js";
import type { Provenance } from "../ports/index.js";
import { deviceUseStream } from "./streams.js";

export interface DeviceSeen {
  readonly deviceId: string;
  readonly at: Instant;
  readonly provenance: Provenance;
}

export function recordDeviceSeen(handling: Handling, { deviceId, at, provenance }: DeviceSeen): Promise<Handled> {
  const decision = accept({ case: "deviceSeen", value: { deviceId } });
  return handle(handling, {
    at,
    decide: () => ({ stream: deviceUseStream(deviceId), threadId: null, provenance, decision }),
  });
}
