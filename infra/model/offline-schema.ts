import type { ModelTool } from "../../commands/ports/model.js";

/** What a sentence says for a tool. */
export interface SaidArguments {
  readonly args: Readonly<Record<string, unknown>>;
  /** What the tool must know and was not told, or was told in a way that its type does not have. */
  readonly missing: readonly string[];
}

/** One of the arguments that a tool knows, from its JSON schema. */
export interface Property {
  readonly name: string;
  /** As JSON schema calls it; "string" if the schema does not say. */
  readonly type: string;
  readonly itemType: string;
  readonly isRequired: boolean;
}

const integer = /^[+-]?\d{1,15}$/u;
const decimal = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/u;

/**
 * The arguments that are given; if only one text is missing and there is a rest, that is it. A value that is undefined
 * was said, and not understood.
 */
export function completed(tool: ModelTool, given: ReadonlyMap<string, unknown>, rest: string): SaidArguments {
  const properties = propertiesOf(tool);
  const texts = properties.filter(({ name, type, isRequired }) => isRequired && type === "string" && !given.has(name));
  const all = new Map(given);
  if (texts.length === 1 && rest !== "") all.set(texts[0]!.name, rest);
  const isMissing = ({ name, isRequired }: Property) => (all.has(name) ? all.get(name) === undefined : isRequired);
  return {
    // A property may have any name, "__proto__" too; made this way it is one like the others.
    args: Object.fromEntries([...all].filter(([, value]) => value !== undefined)),
    missing: properties.filter(isMissing).map(({ name }) => name),
  };
}

export function propertiesOf({ parameters }: ModelTool): readonly Property[] {
  const schemas = new Map(Object.entries(recordOf(parameters["properties"]) ?? {}));
  const required = [parameters["required"]].flat().filter((name) => typeof name === "string");
  const names = new Set([...schemas.keys(), ...required]);
  return [...names].map((name) => {
    const schema = recordOf(schemas.get(name));
    return { name, type: typeOf(schema), itemType: typeOf(schema?.["items"]), isRequired: required.includes(name) };
  });
}

function typeOf(schema: unknown): string {
  const types = [recordOf(schema)?.["type"]].flat().filter((type) => typeof type === "string");
  return types.find((type) => type !== "null") ?? "string";
}

/** What the words mean for this type; undefined if they do not mean anything, or are none. */
export function valueOf(words: string, { type, itemType }: Pick<Property, "type" | "itemType">): unknown {
  const word = words.replace(/(?<![.,;!?])[.,;!?]+$/u, "");
  switch (type) {
    case "integer":
    case "number":
      return (type === "integer" ? integer : decimal).test(word) ? Number(word) : undefined;
    case "boolean":
      return /^(?:true|yes|on)$/iu.test(word) ? true : /^(?:false|no|off)$/iu.test(word) ? false : undefined;
    case "object":
      return recordOf(parsed(words)) ?? undefined;
    case "array": {
      const list = parsed(words);
      if (Array.isArray(list)) return list as unknown[];
      const values = words.split(",").map((item) => valueOf(item.trim(), { type: itemType, itemType: "string" }));
      return values.includes(undefined) ? undefined : values;
    }
    default:
      return words === "" ? undefined : words;
  }
}

/** A sentence that this model understands, with something in every place that must not be empty. */
export function exampleOf(tool: ModelTool): string {
  const samples = new Map([
    ["integer", "1"],
    ["number", "1.5"],
    ["boolean", "true"],
    ["object", "{}"],
  ]);
  const sampleOf = ({ type, itemType }: Property) =>
    type === "array" ? (samples.get(itemType) ?? '"one, two"') : (samples.get(type) ?? '"…"');
  const required = propertiesOf(tool).filter(({ isRequired }) => isRequired);
  return ["use", tool.name, ...required.map((property) => `${property.name}=${sampleOf(property)}`)].join(" ");
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return value as Readonly<Record<string, unknown>>;
}

export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined; // It is no JSON; the words are read as words.
  }
}
