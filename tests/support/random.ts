/** Random numbers that come again with the same seed. */
export interface Random {
  /** At least 0, below `end`. */
  below(end: number): number;
  pick<T>(from: readonly T[]): T;
  /** True `percent` times out of a hundred. */
  chance(percent: number): boolean;
}

/** The generator known as mulberry32: small, fast, and good enough to choose test cases. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    below,
    pick: (from) => from[below(from.length)]!,
    chance: (percent) => below(100) < percent,
  };
}
