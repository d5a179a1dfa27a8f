import type { ServiceImpl } from "@connectrpc/connect";
import type { Kysely } from "kysely";
import { revokeDevice } from "../../commands/devices/revoke-device.js";
import type { Handling } from "../../commands/handle.js";
import type { Clock } from "../../commands/ports/index.js";
import type { DevicesService } from "../../proto/gen/pincer/protocol/v1/devices_pb.js";
import { listDevices, type DeviceRow } from "../../read-models/devices/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import { callerOf, provenanceOf } from "./caller.js";
import { page } from "./paging.js";
import { expectDone } from "./refusal.js";
import { timestampOf, timestampIfAny } from "./times.js";

export function devicesService(
  handling: Handling,
  query: Kysely<ReadModelTables>,
  clock: Clock,
): ServiceImpl<typeof DevicesService> {
  return {
    async listDevices(request, context) {
      const caller = callerOf(context);
      const currentId = caller.kind === "device" ? caller.session.deviceId : null;
      const { rows, nextPageToken } = await page("devices", request, Infinity, (beforePosition, limit) =>
        listDevices(query, { beforePosition, limit }),
      );
      return { items: rows.map((row) => toDevice(row, currentId)), nextPageToken };
    },

    async revokeDevice({ deviceId }, context) {
      expectDone(await revokeDevice(handling, { deviceId, at: clock.now(), provenance: provenanceOf(context) }));
      return { deviceId };
    },
  };
}

function toDevice(row: DeviceRow, currentId: string | null) {
  return {
    deviceId: row.device_id,
    name: row.name,
    isCurrent: row.device_id === currentId,
    createdAt: timestampOf(row.created_at),
    revokedAt: timestampIfAny(row.revoked_at),
    lastUsedAt: timestampIfAny(row.last_used_at),
  };
}
