const gistLengthMax = 160;

/**
 * The gist of what a model thinks, while it does: how each paragraph begins. All of it is shown only to those who may see
 * it; this tells the owner what the model is about.
 */
export class ThinkingGist {
  #paragraph = "";
  #isTold = false;

  /** What is to be shown once this was thought, too. */
  add(text: string): string {
    let gist = "";
    for (const piece of text.split(/(\n\s*\n)/u)) {
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
    const isSentence = /[.!?:]\s/u.test(this.#paragraph.trimStart()) || this.#paragraph.length > gistLengthMax;
    if (!isSentence) return "";
    this.#isTold = true;
    return beginning(this.#paragraph);
  }
}

/** The first sentence, on a line of its own. */
function beginning(paragraph: string): string {
  const text = paragraph.replaceAll(/\s+/gu, " ").trim();
  if (text === "") return "";
  const sentence = /^.*?[.!?:](?=\s|$)/u.exec(text)?.[0] ?? text;
  return sentence.length <= gistLengthMax
    ? `${sentence}\n`
    : `${sentence.slice(0, gistLengthMax - 1).toWellFormed()}…\n`;
}
