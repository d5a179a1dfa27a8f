const gistLengthMax = 160;

/**
 * The gist of what a model thinks, while it does: how each paragraph begins. All of it is shown only to those who may see
 * it; this tells the owner what the model is about.
 */
export class ThinkingGist {
  #tail = "";
  #paragraph = "";
  #isTold = false;

  /** What is to be shown once this was thought, too. */
  add(text: string): string {
    // Where a paragraph ends is known once the next begins.
    const all = this.#tail + text;
    const tailAt = all.indexOf("\n", all.trimEnd().length);
    const tail = tailAt === -1 ? "" : all.slice(tailAt);
    // However long it is, it matters only whether it is the end of a line or of a paragraph.
    this.#tail = tail.includes("\n", 1) ? "\n\n" : tail.slice(0, 1);
    let gist = "";
    for (const piece of all.slice(0, all.length - tail.length).split(/(\n\s*\n)/u)) {
      if (/^\n\s*\n$/u.test(piece)) gist += this.end();
      else gist += this.#continue(piece);
    }
    return gist;
  }

  /** What is still to be shown when nothing more comes. */
  end(): string {
    const gist = this.#isTold ? "" : beginning(this.#paragraph);
    this.#paragraph = "";
    this.#isTold = false;
    return gist;
  }

  #continue(piece: string): string {
    if (this.#isTold) return "";
    this.#paragraph = spaced(this.#paragraph + piece).trimStart();
    const isSentence = /[.!?:]\s/u.test(this.#paragraph) || this.#paragraph.trimEnd().length > gistLengthMax;
    if (!isSentence) return "";
    this.#isTold = true;
    return beginning(this.#paragraph);
  }
}

function spaced(paragraph: string): string {
  return paragraph.replaceAll(/\s+/gu, " ");
}

/** The first sentence, on a line of its own. */
function beginning(paragraph: string): string {
  const text = paragraph.trim();
  if (text === "") return "";
  const sentence = /^.*?[.!?:](?=\s|$)/u.exec(text)?.[0] ?? text;
  return sentence.length <= gistLengthMax
    ? `${sentence}\n`
    : `${sentence.slice(0, gistLengthMax - 1).toWellFormed()}…\n`;
}
