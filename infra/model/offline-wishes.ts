import type { ModelTool } from "../../commands/ports/model.js";
import { titleOf } from "../../domain/threads/index.js";
import { argumentsIn, bracesIn, spellingOf, withoutQuoted } from "./offline-arguments.js";
import { completed, propertiesOf, type SaidArguments } from "./offline-schema.js";

/** That a tool be called. Nobody has called it yet. */
export interface Wish extends SaidArguments {
  readonly tool: ModelTool;
}

/** Where a sentence begins that asks for a tool, and where the words begin that are for the tool. */
interface Beginning {
  readonly tool: ModelTool;
  readonly wordsAt: number;
  readonly isNote: boolean;
}

const separator = /\r?\n|(?<=\s)and then(?=\s)/giu;
const courtesy = /^\s*(?:(?:hi|hello|hey|ok|okay|pincer|please|now|also|(?:can|could|would|will) you)[\s,.!]+)*/iu;
const notePhrases = [
  /^(?:(?:take|make|write|add|leave)\s+a|take)\s+note(?:\s*:|(?:\s+(?:that|to|of)\b)?\s*:?(?=\s|$))/iu,
  /^note(?:\s+to\s+self)?\s*:/iu,
  /^(?:note\s+that|write\s+down(?:\s+that)?|remember\s+(?:that|to))\b\s*:?/iu,
  /^remember\s*:/iu,
];
/** What comes before a name, if the name is meant to be called. */
const asking =
  /(?:^|[.,;:!?-]\s|\b(?:use|using|call|run|try|do|make|start|invoke|execute|please|now|you|to|then|and)(?:\s+(?:the|a|an|my|tool))*)[\s"'`*(“]*$/iu;
const askingLengthMax = 60;
/** How much of a note is looked at for its title. */
const titledLengthMax = 500;
const questionWord = /^\s*(?:what|how|why|when|where|which|who|does|did|is|are|was|were)\b/iu;

/** What a text asks for, in its order. A line that asks for nothing belongs to the one before it. */
export function wishesOf(said: string, tools: readonly ModelTool[]): readonly Wish[] {
  const text = withoutFenced(said);
  const spelled = tools.map((tool) => ({ tool, pattern: new RegExp(spellingOf(tool.name), "giu") }));
  const sentences: { readonly beginning: Beginning; readonly start: number; end: number }[] = [];
  for (const { start, end } of piecesOf(text)) {
    const piece = text.slice(start, end);
    const beginning = noteIn(piece, tools) ?? nameIn(piece, spelled);
    const last = sentences.at(-1);
    if (beginning !== null) sentences.push({ beginning, start, end });
    else if (last !== undefined) last.end = end;
  }
  return sentences.map(({ beginning: { tool, wordsAt, isNote }, start, end }) => {
    const words = text.slice(start + wordsAt, end).trim();
    return { tool, ...(isNote ? noteOf(words, tool) : argumentsIn(words, tool)) };
  });
}

/** What others wrote may be quoted in what the owner says; it asks for nothing. */
function withoutFenced(text: string): string {
  return text.replaceAll(/<<<untrusted (\S+) [\s\S]*?(?:untrusted \1>>>|$)/gu, "[…]");
}

/** The parts between separators. What is in quotes or braces is not taken apart. */
function piecesOf(text: string): { readonly start: number; readonly end: number }[] {
  const readable = withoutBraced(withoutQuoted(text));
  const pieces = [];
  let start = 0;
  for (const { index, 0: separated } of readable.matchAll(separator)) {
    pieces.push({ start, end: index });
    start = index + separated.length;
  }
  return [...pieces, { start, end: text.length }];
}

function withoutBraced(text: string): string {
  const parts = [];
  let from = 0;
  for (let braces = bracesIn(text, 0); braces !== null; braces = bracesIn(text, from)) {
    parts.push(text.slice(from, braces.start), "x".repeat(braces.end - braces.start));
    from = braces.end;
  }
  return [...parts, text.slice(from)].join("");
}

function noteIn(piece: string, tools: readonly ModelTool[]): Beginning | null {
  const tool = tools.find(({ name }) => name === "notes_write");
  const [polite = ""] = courtesy.exec(piece) ?? [];
  const [phrase] = notePhrases.flatMap((pattern) => pattern.exec(piece.slice(polite.length))?.[0] ?? []);
  if (tool === undefined || phrase === undefined) return null;
  return { tool, wordsAt: polite.length + phrase.length, isNote: true };
}

function noteOf(words: string, tool: ModelTool): SaidArguments {
  const fields = new Map([
    ["title", titleOf(words.slice(0, titledLengthMax).toWellFormed()) || "Note"],
    ["text", words],
  ]);
  const properties = propertiesOf(tool).filter(({ name, type }) => fields.has(name) && type === "string");
  const given = words === "" ? [] : properties.map(({ name }) => [name, fields.get(name)] as const);
  return completed(tool, new Map(given), words);
}

/** The first name that the sentence asks for; of two in the same place, the longer one. */
function nameIn(
  piece: string,
  spelled: readonly { readonly tool: ModelTool; readonly pattern: RegExp }[],
): Beginning | null {
  const named = spelled.flatMap(({ tool, pattern }) => {
    const match = [...piece.matchAll(pattern)].find(({ index, 0: name }) => isAskedFor(piece, index, name));
    return match === undefined ? [] : [{ tool, index: match.index, end: match.index + match[0].length }];
  });
  const [first] = named.sort((a, b) => a.index - b.index || b.end - a.end);
  if (first === undefined) return null;
  const isQuoted = /["'`*(“]/u.test(piece.charAt(first.index - 1));
  const [closing = ""] = (isQuoted ? /^["'`*)”]+/u.exec(piece.slice(first.end)) : null) ?? [];
  return { tool: first.tool, wordsAt: first.end + closing.length, isNote: false };
}

/** Nobody writes an underscore by accident; words like "web search" are also used to talk about one. */
function isAskedFor(piece: string, index: number, name: string): boolean {
  if (asking.test(piece.slice(Math.max(0, index - askingLengthMax), index))) return true;
  return name.includes("_") && !questionWord.test(piece);
}
