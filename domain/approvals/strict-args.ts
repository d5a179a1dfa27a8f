/** Where a JSON schema has others inside of it, by name or in a list. */
const named = ["properties", "patternProperties", "$defs"];
const listed = ["anyOf", "oneOf", "allOf", "prefixItems"];
const single = ["items", "additionalProperties"];
/** Whatever has none of these takes anything. */
const limiting = ["type", "const", "enum", "not", "$ref", "anyOf", "oneOf", "allOf"];

/**
 * Where in its arguments a tool would take a member that nobody has described, and so nobody is shown; null if nowhere. Names
 * that are chosen by the caller are such members too.
 */
export function looseAt(schema: unknown, path = "its arguments"): string | null {
  if (typeof schema !== "object" || schema === null) return null;
  const node = schema as Readonly<Record<string, unknown>>;
  const takesAnything = !limiting.some((name) => name in node);
  if (takesAnything || (node["type"] === "object" && node["additionalProperties"] !== false)) return path;
  const inside = [
    ...named.flatMap((name) => Object.entries(node[name] ?? {})),
    ...listed.flatMap((name) => Object.values(node[name] ?? {}).map((one) => [name, one] as const)),
    ...single.flatMap((name) => (name in node ? [[name, node[name]] as const] : [])),
  ];
  for (const [name, one] of inside) {
    const found = looseAt(one, `${path}.${name}`);
    if (found !== null) return found;
  }
  return null;
}
