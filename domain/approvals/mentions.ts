import { unseen } from "../shared/index.js";

/** Nobody is called by more than that: an address has no more than 254 characters. */
const nameLengthMax = 320;
const urlLengthMax = 2_048;

/** What stands between words; an address is one word. */
const betweenWords = /[^\p{L}\p{N}\p{M}@._+-]+/u;
/** Not every script has spaces: an address may stand in the middle of a sentence. */
const betweenPlainWords = /[^a-z0-9@._+-]+/u;
/** A URL begins after two slashes, inside of another one as well, or without any. */
const beforeUrls = /[/\\]{2,}|(?<![\p{L}\p{N}.])(?=www\.)/u;

/** Ends of lines and the like, and single characters that stand for whole sentences. */
const notInNames = /[\p{Cc}\p{Zl}\p{Zp}\uFDFA\uFDFB]/gu;

/** Somebody or something that a card names. */
export interface Name {
  readonly written: string;
  /** All that a text must have in it to have named it. */
  readonly words: readonly string[];
}

export function addressesIn(text: string): readonly Name[] {
  return wordsOf(normal(text), betweenWords).flatMap((word) =>
    isAddress(word) ? [{ written: word, words: [word] }] : [],
  );
}

/** Each as a whole, and its host: whatever is added to an address of somebody else's still goes to them. */
export function urlsIn(text: string): readonly (readonly Name[])[] {
  return placesIn(normal(text)).map(({ written, whole, host }) => [
    { written, words: [whole] },
    { written: host, words: [host] },
  ]);
}

/** Whoever has neither an address nor a URL. */
export function nameOf(text: string): Name {
  return { written: text, words: wordsOf(normal(text), betweenWords) };
}

/** All that a text names. */
export function mentionsIn(text: string): ReadonlySet<string> {
  const plain = normal(text);
  const words = [...wordsOf(plain, betweenWords), ...wordsOf(plain, betweenPlainWords)];
  const hosts = words.filter(isAddress).map((address) => address.slice(address.lastIndexOf("@") + 1));
  return new Set([...words, ...hosts, ...placesIn(plain).flatMap(({ whole, host }) => [whole, host])]);
}

export function isMentioned({ words }: Name, mentions: ReadonlySet<string>): boolean {
  return words.length > 0 && words.every((word) => mentions.has(word));
}

/** Letters of one script that look like those of another. */
export function mixesScripts(text: string): boolean {
  const isForeign = /(?![\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}])\p{L}/u;
  return /\p{Script=Latin}/u.test(text) && isForeign.test(text);
}

/** One way of writing for all that look, or arrive, the same. */
function normal(text: string): string {
  const lines = text.replaceAll(notInNames, " ");
  return lines.replaceAll(unseen, "").normalize("NFKC").toLowerCase();
}

function wordsOf(text: string, between: RegExp): readonly string[] {
  const words: string[] = [];
  for (const word of text.split(between)) {
    const trimmed = word.length > nameLengthMax ? "" : isTrimmed(word) ? word : word.replaceAll(edges, "");
    if (trimmed !== "") words.push(trimmed);
  }
  return words;
}

const edges = /^[._+-]+|[._+-]+$/gu;

function isTrimmed(word: string): boolean {
  return !"._+-".includes(word.charAt(0)) && !"._+-".includes(word.charAt(word.length - 1));
}

function isAddress(word: string): boolean {
  return /[^@]@[^@]/u.test(word);
}

interface Place {
  readonly written: string;
  /** Without what makes no difference: the scheme, the port, what comes after #. */
  readonly whole: string;
  readonly host: string;
}

function placesIn(text: string): readonly Place[] {
  return text
    .split(beforeUrls)
    .slice(1)
    .flatMap((after) => {
      const [found = ""] = /^[^\s<>"'`]*/u.exec(after.slice(0, urlLengthMax)) ?? [];
      const written = found.replace(/[.,;:!?)\]}]+$/u, "");
      const [, authority = "", path = ""] = /^([^/?#\\]*)[/\\]?([^#]*)/u.exec(written) ?? [];
      const host = hostOf(authority);
      return host === "" ? [] : [{ written, whole: `${host}/${path}`, host }];
    });
}

/** Whoever it is in front of the @, and whichever port: this is where it goes. Empty if there is no such place. */
function hostOf(authority: string): string {
  const name = authority.slice(authority.lastIndexOf("@") + 1).replace(/(?::\d*)?\.?$/u, "");
  if (!/[.:]/u.test(name)) return "";
  if (/^[a-z0-9.-]+$/u.test(name)) return name;
  return URL.canParse(`https://${name}`) ? new URL(`https://${name}`).hostname : "";
}
