/** Text that grows piece by piece, to a limit in bytes of UTF-8. */
export class WrittenText {
  #text = "";
  #bytes = 0;
  #half = "";

  constructor(
    private readonly bytesMax: number,
    private readonly onTooLong: (bytesMax: number) => Error,
  ) {}

  get text(): string {
    return this.#text;
  }

  /**
   * Takes the next piece; returns what that adds. A character may come in two pieces: its first half waits for the
   * second. A half without its other half becomes U+FFFD, and is dropped at the end of the text.
   */
  add(piece: string): string {
    const written = this.#half + piece;
    const isHalf = /[\uD800-\uDBFF]$/.test(written);
    this.#half = isHalf ? written.slice(-1) : "";
    const added = (isHalf ? written.slice(0, -1) : written).toWellFormed();
    this.#bytes += Buffer.byteLength(added);
    if (this.#bytes > this.bytesMax) throw this.onTooLong(this.bytesMax);
    this.#text += added;
    return added;
  }
}
