/** A bound that a row's figure has to keep. */
export type Bound = { readonly atLeast: number } | { readonly atMost: number };

/** What one row of the benchmark found. */
export interface Measured {
  /** Ours ÷ the peer's; null when there is nothing to divide by. */
  readonly ratio: number | null;
  readonly ours: number;
  readonly peer: number | null;
  readonly unit: string;
  /** Whatever else is worth knowing, in the JSON only. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One timed portion of work: answers its figure, a rate or a time. */
export type Trial = () => Promise<number>;

/**
 * Ours and the peer's in turn, so that a slow minute of the machine is slow for both, and medians of the rounds, so
 * that a hiccup counts for neither. The first round only warms up. Who goes first changes from round to round: whoever
 * follows may pay for what the other has left to the disk. `aside` is measured in the same rounds and only told.
 */
export async function interleave(
  rounds: number,
  unit: string,
  ours: Trial,
  peer: Trial,
  aside: Readonly<Record<string, Trial>> = {},
): Promise<Measured> {
  const trials = Object.entries({ ours, peer, ...aside });
  const figures = new Map(trials.map(([name]) => [name, [] as number[]]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, trial] of round % 2 === 0 ? trials : trials.toReversed()) {
      globalThis.gc?.(); // Nobody pays for the garbage of the one before.
      const figure = await trial();
      if (round > 0) figures.get(name)!.push(figure);
    }
  }
  const medians = new Map([...figures].map(([name, values]) => [name, median(values)]));
  const ratios = figures.get("ours")!.map((figure, round) => figure / figures.get("peer")![round]!);
  return {
    ratio: medians.get("ours")! / medians.get("peer")!,
    ours: medians.get("ours")!,
    peer: medians.get("peer")!,
    unit,
    extra: {
      rounds,
      ratioMin: Math.min(...ratios),
      ratioMax: Math.max(...ratios),
      ...Object.fromEntries(Object.keys(aside).map((name) => [name, medians.get(name)])),
    },
  };
}

/** How many per second, of `count` things. */
export async function perSecond(count: number, work: () => Promise<void> | void): Promise<number> {
  const started = performance.now();
  await work();
  return (count * 1000) / (performance.now() - started);
}

export function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function isKept(bound: Bound, { ratio, ours }: Measured): boolean {
  const figure = ratio ?? ours;
  return "atLeast" in bound ? figure >= bound.atLeast : figure <= bound.atMost;
}
