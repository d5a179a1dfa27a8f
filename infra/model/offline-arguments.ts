import type { ModelTool } from "../../commands/ports/model.js";
import {
  completed,
  parsed,
  propertiesOf,
  recordOf,
  valueOf,
  type Property,
  type SaidArguments,
} from "./offline-schema.js";

const fillers = /^(?:[\s:,]|(?:with|for|to|about|of|on|in|at|that|tool|and|please)(?=[\s:,.]|$))+/iu;

/** Reads what comes after a tool's name: a JSON object, else pairs, and the rest for the one text that is missing. */
export function argumentsIn(words: string, tool: ModelTool): SaidArguments {
  const properties = propertiesOf(tool);
  const { said, rest, start } = pairsIn(words, properties);
  const json = objectIn(words);
  if (json !== null) {
    const keys = Object.keys(json.value);
    const isOfTool = keys.length > 0 && keys.every((key) => properties.some(({ name }) => name === key));
    // After a property's name, an object is its value and not all there is to say.
    if (isOfTool || json.start < start) return completed(tool, new Map(Object.entries(json.value)), "");
  }
  return completed(tool, said, textOf(rest));
}

/** The source of a regular expression for any of these names, with underscores or spaces between their words. */
export function spellingOf(...names: readonly string[]): string {
  const longestFirst = names.filter((name) => /[\p{L}\p{N}]/u.test(name)).sort((a, b) => b.length - a.length);
  const sources = longestFirst.map((name) =>
    name.replaceAll(/[\\^$.*+?()[\]{}|/]/g, "\\$&").replaceAll(/[_\s]+/g, "[_\\s]+"),
  );
  return `(?<![\\p{L}\\p{N}_])(?:${sources.length > 0 ? sources.join("|") : "(?!)"})(?![\\p{L}\\p{N}_])`;
}

/** Where the first braces at or after `from` open and close again; null if they do not. */
export function bracesIn(text: string, from: number): { readonly start: number; readonly end: number } | null {
  const start = text.indexOf("{", from);
  let depth = 0;
  for (let at = start; at >= 0 && at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return { start, end: at + 1 };
  }
  return null;
}

/** The text, as long as before, with quoted parts made unreadable: what they contain has no meaning here. */
export function withoutQuoted(text: string): string {
  return text.replaceAll(/(?<=^|[\s:=,([{])"(?:[^"\\]|\\.)*"/gsu, (quoted) => "x".repeat(quoted.length));
}

/** `name: value`, `name=value` and `name value`; what is left of the words, and where the first pair begins. */
function pairsIn(words: string, properties: readonly Property[]) {
  const marks = marksIn(words, properties);
  const said = new Map<string, unknown>();
  const start = marks[0]?.index ?? words.length;
  const rest = [marks.length > 0 ? unconnected(words.slice(0, start)) : words];
  for (const [at, { property, from, quoted }] of marks.entries()) {
    const next = marks[at + 1]?.index;
    const upToNext = words.slice(quoted?.end ?? from, next);
    const text = next === undefined ? upToNext.trim() : unconnected(upToNext);
    const [word = ""] = /^\S*/u.exec(text) ?? [];
    if (quoted !== null || ["integer", "number", "boolean"].includes(property.type)) {
      said.set(property.name, valueOf(quoted?.text ?? word, property));
      rest.push(quoted === null ? text.slice(word.length) : text);
    } else {
      said.set(property.name, valueOf(withoutStop(text), property));
    }
  }
  return { said, rest: rest.join(" "), start };
}

/** Where properties are named, each once. A name without a sign means nothing in a text that a colon introduced. */
function marksIn(words: string, properties: readonly Property[]) {
  const known = new Map(properties.map((property) => [plain(property.name), property]));
  const pattern = new RegExp(`(${spellingOf(...properties.map(({ name }) => name))})(\\s*[:=]\\s*|\\s+|$)`, "giu");
  const marks = [];
  let [isProse, readTo] = [false, 0];
  for (const { index, 0: whole, 1: name = "", 2: sign = "" } of words.matchAll(pattern)) {
    const property = known.get(plain(name));
    const isBare = sign.trim() === "";
    if (property === undefined || index < readTo || (isBare && isProse)) continue;
    known.delete(plain(name));
    const from = index + whole.length;
    const quoted = quotedAt(words, from);
    marks.push({ property, index, from, quoted });
    isProse = quoted === null && sign.includes(":") && property.type === "string";
    readTo = quoted?.end ?? from;
  }
  return marks;
}

function quotedAt(words: string, at: number): { readonly text: string; readonly end: number } | null {
  const pattern = /(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|“([^”]*)”)(?=[\s,;.!?)]|$)/suy;
  pattern.lastIndex = at;
  const match = pattern.exec(words);
  const text = match?.[1]?.replaceAll(/\\(["\\])/g, "$1") ?? match?.[2] ?? match?.[3];
  return text === undefined ? null : { text, end: pattern.lastIndex };
}

/** The rest as a text, without the words that only lead to it; "" if nothing is said by it. */
function textOf(rest: string): string {
  const polite = rest.replace(fillers, "").trim();
  const text = withoutStop(polite.replace(/(?<![\s,])[\s,]+please[.!]?$/iu, ""));
  const quoted = quotedAt(text, 0);
  if (quoted?.end === text.length) return quoted.text;
  // What begins like an object and is none was meant as one, and not as a text.
  return text.startsWith("{") || !/[\p{L}\p{N}\p{S}]/u.test(text) ? "" : text;
}

/** Without what only leads to the pair that follows. */
function unconnected(words: string): string {
  const text = words.trim().replace(/(?<=^|[\s,;])(?:and|with)$/iu, "");
  return text.replace(/(?<![\s,;.])[\s,;.]+$/u, "");
}

/** A text may end in a full stop; a single word only seems to. */
function withoutStop(text: string): string {
  return /\s/u.test(text) ? text : text.replace(/(?<![.,;?])[.,;?]+$/u, "");
}

function objectIn(words: string) {
  const { start, end } = bracesIn(withoutQuoted(words), 0) ?? { start: 0, end: 0 };
  const value = recordOf(parsed(words.slice(start, end)));
  return value === null ? null : { value, start };
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[_\s]+/gu, "_");
}
