/** How often the same is done; the fastest time counts, which is the one that nobody else was in the way of. */
const repetitions = 7;
const times = 8;

/** So much more may eight times as much take: it is about 8 where work grows with its input, and 64 with its square. */
export const linearGrowthMax = 30;

/** How many times as long something takes with eight times as much of the same. */
export function growthOf(work: (size: number) => unknown, size: number): number {
  return fastestMillis(() => work(times * size)) / fastestMillis(() => work(size));
}

function fastestMillis(work: () => unknown): number {
  const millis = Array.from({ length: repetitions }, () => {
    const since = performance.now();
    work();
    return performance.now() - since;
  });
  return Math.min(...millis);
}
