/** In how many rounds something is measured; the fastest counts. */
const rounds = 7;
/** How often it is done in a round, so that there is something to measure. */
const repetitions = 5;
const times = 8;

/** So much more may eight times as much take: it is about 8 where work grows with its input, and 64 with its square. */
export const linearGrowthMax = 30;

/**
 * How many times as much of the processor something takes with eight times as much of the same: time that others have it
 * does not count. The sizes are to be such that one takes a millisecond or so; more makes so much garbage that its removal
 * is measured.
 */
export function growthOf(work: (size: number) => unknown, size: number): number {
  const [little, much] = [Array<number>(), Array<number>()];
  for (let round = 0; round < rounds; round++) {
    little.push(microsOf(() => work(size)));
    much.push(microsOf(() => work(times * size)));
  }
  return Math.min(...much) / Math.max(1, Math.min(...little));
}

function microsOf(work: () => unknown): number {
  const since = process.cpuUsage();
  for (let time = 0; time < repetitions; time++) work();
  const { user, system } = process.cpuUsage(since);
  return user + system;
}
