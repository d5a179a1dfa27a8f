/** Providers show "sk-or-v1…89ab" in their errors; more of a key than so many characters is too much. */
const partCharsMax = 7;

/**
 * Recognises text that holds the key or a good part of it, in whatever case, with or without blanks in between. A key
 * as short as "ollama" is found only as a whole.
 */
export function keyWatch(apiKey: string): (text: string) => boolean {
  const key = bare(apiKey);
  const partChars = Math.min(partCharsMax + 1, key.length);
  const parts = Array.from({ length: key.length - partChars + 1 }, (_, start) => key.slice(start, start + partChars));
  return (text) => {
    const bareText = bare(text);
    return key !== "" && parts.some((part) => bareText.includes(part));
  };
}

function bare(text: string): string {
  return text.replace(/[\s\p{C}]+/gu, "").toLowerCase();
}
