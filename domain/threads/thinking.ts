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
    this.#tail = /\n\s*$/u.exec(all)?.[0] ?? "";
    let gist = "";
    for (const piece of all.slice(0, all.length - this.#tail.length).split(/(\n\s*\n)/u)) {
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
    this.#paragraph += piece;
    const isSentence = /[.!?:]\s/u.test(this.#paragraph.trimStart()) || bare(this.#paragraph).length > gistLengthMax;
    if (!isSentence) return "";
    this.#isTold = true;
    return beginning(this.#paragraph);
  }
}

function bare(paragraph: string): string {
  return paragraph.replaceAll(/\s+/gu, " ").trim();
}

/** The first sentence, on a line of its own. */
function beginning(paragraph: string): string {
  const text = bare(paragraph);
  if (text === "") return "";
  const sentence = /^.*?[.!?:](?=\s|$)/u.exec(text)?.[0] ?? text;
  return sentence.length <= gistLengthMax
    ? `${sentence}\n`
    : `${sentence.slice(0, gistLengthMax - 1).toWellFormed()}…\n`;
}
