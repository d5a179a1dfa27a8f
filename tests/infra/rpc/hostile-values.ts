import { packagePath } from "./raw.js";
import type { HostileRequest } from "./hostile-requests.js";

const depth = 20_000;
const approvals = { ":path": `${packagePath}.ApprovalsService/ListApprovals` };
const schedules = { ":path": `${packagePath}.SchedulesService/UpdateSchedule` };
const json = { "content-type": "application/json" };
const proto = { "content-type": "application/proto" };
/** The methods are still to be built, and say so to whoever gets as far as that. */
const answers = ["unimplemented", "invalid_argument", "internal", "not_found"];

/** Values that are possible in the format, and that nobody means. */
export const hostileValues: readonly HostileRequest[] = [
  { what: "an unknown enum number", headers: { ...approvals, ...proto }, body: Buffer.from([0x08, 0x63]), answers },
  { what: "a negative enum number", headers: { ...approvals, ...json }, body: '{"status":-1}', answers },
  // A name that is not known is as good as none: an app may be newer than its server.
  {
    what: "an unknown enum name",
    headers: { ...approvals, ...json },
    body: '{"status":"NONSENSE"}',
    answers: [...answers, "ok"],
  },
  {
    what: "a deep Struct in JSON",
    headers: { ...schedules, ...json },
    body: `{"patch":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`,
    answers,
  },
  { what: "a deep Struct", headers: { ...schedules, ...proto }, body: deepStruct(), answers },
];

/** A Struct in a Struct in a Struct: each is field 2 of a map's entry, which is field 1, and the value's field 5. */
function deepStruct(): Buffer {
  const heads: Buffer[] = [];
  let length = 2; // Of the innermost value, which is null.
  const wrap = (head: readonly number[]) => {
    const written = Buffer.from([...head, ...varint(length)]);
    heads.push(written);
    length += written.length;
  };
  for (let level = 0; level < depth; level++) {
    wrap([0x0a, 0x01, 0x61, 0x12]);
    wrap([0x0a]);
    wrap(level === depth - 1 ? [0x12] : [0x2a]);
  }
  return Buffer.concat([...heads.toReversed(), Buffer.from([0x08, 0x00])]);
}

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) + 0x80, ...varint(Math.floor(value / 0x80))];
}
