import { BinaryReader } from "@bufbuild/protobuf/wire";
import { ThreadEventSchema } from "../../proto/gen/pincer/protocol/v1/envelope_pb.js";

/** What can be told of a stored event without decoding the rest of it, which takes several times as long. */
export interface Glance {
  readonly turnId: string;
  /** The payload's oneof case; empty if this version has none like it. */
  readonly type: string;
}

const turnIdField = ThreadEventSchema.field.turnId.number;
const payloadFields = new Map(
  ThreadEventSchema.fields.flatMap(({ number, localName, oneof }) =>
    oneof?.name === "payload" ? [[number, localName]] : [],
  ),
);

export function glanceAt(event: Uint8Array): Glance {
  const reader = new BinaryReader(event);
  let turnId = "";
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    const type = payloadFields.get(field);
    if (type !== undefined) return { turnId, type };
    if (field === turnIdField) turnId = reader.string();
    else reader.skip(wireType, field);
  }
  return { turnId, type: "" };
}
