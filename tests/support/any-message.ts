import {
  create,
  ScalarType,
  type DescField,
  type DescMessage,
  type JsonObject,
  type Message,
} from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";

const text = fc.string({ unit: "binary", maxLength: 200 });
const depthMax = 3;

/** Any message of a schema, its fields set or left out. */
export function anyMessage(schema: DescMessage, depth = 0): fc.Arbitrary<Message> {
  const fields = Object.fromEntries(
    schema.members.flatMap((member): [string, fc.Arbitrary<unknown>][] => {
      if (member.kind === "oneof") {
        const cases = member.fields.map((field) =>
          anyValue(field, depth).map((value) => ({ case: field.localName, value })),
        );
        return [[member.localName, fc.oneof(...cases)]];
      }
      return isTooDeep(member, depth) ? [] : [[member.localName, anyValue(member, depth)]];
    }),
  );
  return fc.record(fields, { requiredKeys: [] }).map((init) => create(schema, init as never) as Message);
}

function isTooDeep({ message }: DescField, depth: number): boolean {
  return message !== undefined && depth >= depthMax;
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<unknown> {
  switch (field.fieldKind) {
    case "list":
      return fc.array(field.message === undefined ? anyScalar(field.scalar) : anyMessage(field.message, depth + 1), {
        maxLength: 3,
      });
    case "map":
      return fc.dictionary(text, anyScalar(ScalarType.STRING), { maxKeys: 3 });
    case "message":
      return field.message.typeName === StructSchema.typeName ? anyStruct() : anyMessage(field.message, depth + 1);
    case "enum":
      return fc.constantFrom(...field.enum.values.map(({ number }) => number));
    case "scalar":
      return anyScalar(field.scalar);
  }
}

/** A Struct is given as the JSON it stands for. */
function anyStruct(): fc.Arbitrary<JsonObject> {
  return fc.constantFrom<JsonObject>({}, { to: ["a@example.com"], count: 3, nested: { deep: [true, null, 0.5] } });
}

function anyScalar(scalar: ScalarType | undefined): fc.Arbitrary<unknown> {
  switch (scalar) {
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 50 });
    case ScalarType.INT32:
      return fc.integer();
    case ScalarType.UINT32:
      return fc.nat();
    case ScalarType.INT64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return fc.double({ noNaN: true });
    default:
      return text;
  }
}
