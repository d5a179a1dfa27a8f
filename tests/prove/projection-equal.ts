import { join } from "node:path";
import { projections } from "../../projections/index.js";
import type { Projection } from "../../projections/shared/projection.js";
import { factKinds, History, threadCount, type Step } from "../support/history.js";
import { randomFrom, type Random } from "../support/random.js";
import type { Check, Proof } from "./proof.js";
import { withDirectory } from "./scratch.js";
import { Tally } from "./tally.js";

const stepsMax = 40;

/** The messages' projection without one of its handlers. */
const skipping: readonly Projection[] = projections.map((projection) =>
  projection.name === "messages"
    ? { ...projection, on: { ...projection.on, eventsErased: () => undefined } }
    : projection,
);

/** One case is one random history: appends, conflicts, retries, erasures, restarts, rebuilds on the way. */
export const projectionEqual: Proof = {
  name: "projection.equal",
  promise: "read models are the log: a rebuild shows what living through it showed",
  sizes: { small: 15, full: 500 },
  run: (...size) => compareHistories(projections, ...size),
  control: (...size) => compareHistories(skipping, ...size),
};

function compareHistories(
  lived: readonly Projection[],
  ...[n, seed, onProgress]: Parameters<Check>
): ReturnType<Check> {
  return withDirectory(async (directory) => {
    const random = randomFrom(seed);
    const tally = new Tally(onProgress);
    for (let index = 0; index < n; index++) {
      const steps = Array.from({ length: 1 + random.below(stepsMax) }, () => nextStep(random));
      const problem = await compareHistory(join(directory, `history-${index}`), lived, steps);
      tally.case(problem === null ? null : `history ${index}: ${problem}`);
      tally.add("steps", steps.length);
    }
    return tally.finding();
  });
}

async function compareHistory(
  path: string,
  lived: readonly Projection[],
  steps: readonly Step[],
): Promise<string | null> {
  const history = await History.begin(path, lived);
  try {
    // A rebuild on the way would hide that what was lived was wrong.
    for (const step of steps) if (lived === projections || step.what !== "rebuild") await history.live(step);
    await history.check();
    const differences = await history.differences(projections);
    return differences === 0 ? null : `${differences} rows differ`;
  } catch (error) {
    return String(error);
  } finally {
    await history.end();
  }
}

function nextStep(random: Random): Step {
  const kind = random.below(20);
  if (kind < 12) return { what: "append", group: Array.from({ length: 1 + random.below(4) }, () => nextPlan(random)) };
  if (kind < 14) return { what: "retry", which: random.below(1_000), asksForOther: random.chance(50) };
  if (kind < 17) return { what: "erase", first: random.below(1_000), length: random.below(6) };
  return { what: kind < 19 ? "restart" : "rebuild" };
}

function nextPlan(random: Random) {
  return {
    thread: random.below(threadCount),
    expects: random.pick(["anything", "the truth", "something else"] as const),
    facts: Array.from({ length: random.below(4) }, () => random.pick(factKinds)),
    hasKey: random.chance(50),
  };
}
