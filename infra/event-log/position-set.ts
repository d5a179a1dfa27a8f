/** A set of positions, one bit each: a million of them take 125 kB. */
export class PositionSet {
  #words = new Uint32Array(1024);

  add(position: number): void {
    const word = position >>> 5;
    if (word >= this.#words.length) {
      const grown = new Uint32Array(Math.max(word + 1, this.#words.length * 2));
      grown.set(this.#words);
      this.#words = grown;
    }
    this.#words[word] = (this.#words[word] ?? 0) | (1 << (position & 31));
  }

  /** Both ends inclusive. */
  removeRange(first: number, last: number): void {
    const end = Math.min(last, this.#words.length * 32 - 1);
    for (let position = Math.max(first, 0); position <= end; position++) {
      const word = position >>> 5;
      this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (position & 31));
    }
  }

  first(): number | null {
    const word = this.#words.findIndex((bits) => bits !== 0);
    return word === -1 ? null : word * 32 + (31 - Math.clz32((this.#words[word] ?? 0) & -(this.#words[word] ?? 0)));
  }
}
