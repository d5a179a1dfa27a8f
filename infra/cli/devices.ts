import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { DevicesService, type Device } from "../../proto/gen/pincer/protocol/v1/devices_pb.js";
import type { CliContext } from "./context.js";
import { exitCodes } from "./exit.js";
import { printable } from "./output.js";
import { soon, withServer } from "./socket.js";

/** Prints every device there ever was, the latest first. */
export async function devicesList(context: CliContext): Promise<number> {
  return withServer(context, async (transport) => {
    const devices = createClient(DevicesService, transport);
    let pageToken = "";
    do {
      const { items, nextPageToken } = await devices.listDevices({ pageToken }, soon(context));
      for (const device of items) context.output.print(toView(device), toLine);
      pageToken = nextPageToken;
    } while (pageToken !== "");
    return exitCodes.fine;
  });
}

/** From the next request on its token is refused, and its streams end. */
export async function devicesRevoke(context: CliContext, deviceId: string): Promise<number> {
  return withServer(context, async (transport) => {
    await createClient(DevicesService, transport).revokeDevice({ deviceId }, soon(context));
    context.output.print({ device_id: deviceId, state: "revoked" }, (view) => `${view.state}  ${view.device_id}`);
    return exitCodes.fine;
  });
}

interface DeviceView {
  readonly device_id: string;
  readonly name: string;
  readonly state: "active" | "revoked";
  readonly created_at: string | null;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

function toView(device: Device): DeviceView {
  return {
    device_id: device.deviceId,
    name: device.name,
    state: device.revokedAt === undefined ? "active" : "revoked",
    created_at: toTime(device.createdAt),
    last_used_at: toTime(device.lastUsedAt),
    revoked_at: toTime(device.revokedAt),
  };
}

function toLine({ device_id, name, state, created_at, last_used_at }: DeviceView): string {
  const used = last_used_at ?? "never".padEnd(24);
  return `${device_id}  ${state.padEnd(7)}  paired ${created_at ?? "-"}  used ${used}  ${printable(name)}`;
}

export function toTime(timestamp: Timestamp | undefined): string | null {
  return timestamp === undefined ? null : timestampDate(timestamp).toISOString();
}
