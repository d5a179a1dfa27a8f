import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Tool } from "./tool.js";

/**
 * The arguments as a tool's schema makes them, if they can be kept as JSON and the schema leaves them as they are when it
 * sees them again. Only then is what is carried out later exactly what was shown. null otherwise, and of arguments that the
 * tool does not take.
 */
export function settledArgs({ args: schema }: Pick<Tool, "args">, args: unknown): JsonObject | null {
  const made = parsed(schema, args);
  if (!isJsonObject(made)) return null;
  const again = parsed(schema, made);
  return isJsonObject(again) && canonical(made) === canonical(again) ? made : null;
}

/** A schema may have code of the tool's own in it, and that may break. */
function parsed(schema: Tool["args"], args: unknown): unknown {
  try {
    return schema.parse(args);
  } catch {
    return undefined;
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value) && isJson(value);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isJson(value: unknown): value is JsonValue {
  switch (typeof value) {
    case "string":
      return value.isWellFormed();
    case "number":
      return Number.isFinite(value);
    case "boolean":
      return true;
    case "object":
      if (value === null) return true;
      if (Array.isArray(value)) return [...(value as readonly unknown[])].every(isJson);
      return isPlain(value) && Object.entries(value).every(([name, member]) => name.isWellFormed() && isJson(member));
    default:
      return false;
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same text for the same value, however its members are ordered. */
function canonical(value: JsonObject): string {
  return JSON.stringify(value, (_, member: unknown) => (isObject(member) ? sorted(member) : member));
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
