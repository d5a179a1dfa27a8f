/** Two at a time: while one child runs, the remains of the other are looked at. */
const laneCount = 2;

/** Does the work for 0 to n-1 in lanes: each lane takes the next one when it is free. */
export async function inLanes(n: number, startLane: (lane: number) => (index: number) => Promise<void>): Promise<void> {
  const waiting = Array.from({ length: n }, (_, index) => index).values();
  const lane = async (_: unknown, number: number) => {
    const work = startLane(number);
    for (const index of waiting) await work(index);
  };
  await Promise.all(Array.from({ length: laneCount }, lane));
}
