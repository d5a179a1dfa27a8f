import type { CallSubject, CardContext, OwnerWords, UntrustedSource } from "./card-context.js";
import { addressesIn, isMentioned, mentionsIn, mixesScripts, nameOf, urlsIn, type Name } from "./mentions.js";
import { oneLine } from "./visible.js";

/** More than that nobody reads. */
const warningsMax = 20;

/** What the owner should look at twice. */
export function warningsAbout(subject: CallSubject, context: CardContext): readonly string[] {
  const named = namedIn(subject);
  const warnings = new Set([
    ...originsOf(named, context),
    ...named
      .flat()
      .flatMap(({ written }) => (mixesScripts(written) ? [`${written} mixes letters of several scripts`] : [])),
  ]);
  const lines = [...warnings].map(oneLine);
  const more = lines.length - warningsMax;
  return [
    ...(context.isCutOff ? ["This thread has read more than was searched for where the addresses come from"] : []),
    ...lines.slice(0, warningsMax),
    ...(more > 0 ? [`There are ${more} more warnings like these`] : []),
  ];
}

/** All that a card names; each in one or more ways, and one that comes from others is enough. */
function namedIn({ recipients, urls, target, body, details = {} }: CallSubject): readonly (readonly Name[])[] {
  const inText = (text: string) => [...addressesIn(text).map((name) => [name]), ...urlsIn(text)];
  const called = [...recipients, ...urls].flatMap((text) => {
    const found = inText(text);
    return found.length > 0 ? found : [[nameOf(text)]];
  });
  return [...called, ...[target, body, ...Object.values(details)].flatMap(inText)];
}

/** What others brought up before the owner named it, if they ever did. */
function originsOf(named: readonly (readonly Name[])[], context: CardContext): readonly string[] {
  const sources = context.untrusted
    .map((source) => ({ source, mentions: mentionsOf(source) }))
    .sort((one, other) => positionOf(one.source) - positionOf(other.source));
  const isNamedByOwner = (name: Name, before: number) =>
    context.ownerWords.some((words) => words.position < before && isMentioned(name, mentionsOf(words)));
  return named.flatMap((ways) => {
    for (const name of ways) {
      const found = sources.find(({ mentions }) => isMentioned(name, mentions))?.source;
      if (found === undefined || isNamedByOwner(name, positionOf(found))) continue;
      return [`${name.written} comes from ${found.tool} ${found.origin}, not from you`];
    }
    return [];
  });
}

/** A turn may propose several actions, and all of them look through the same texts. */
const known = new WeakMap<UntrustedSource | OwnerWords, ReadonlySet<string>>();

function mentionsOf(said: UntrustedSource | OwnerWords): ReadonlySet<string> {
  const mentions = known.get(said) ?? mentionsIn(said.text);
  known.set(said, mentions);
  return mentions;
}

/** What is not in the log yet comes after all that is. */
function positionOf({ position = Infinity }: UntrustedSource): number {
  return position;
}
