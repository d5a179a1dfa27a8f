import type { ExecutorPorts } from "./executor-ports.js";

/** What others answer within a time; `otherwise` if they do not, or break down, or the server is stopped. */
export async function withinTime<Answer>(
  { timers, onTrouble }: ExecutorPorts,
  stop: AbortSignal,
  millisMax: number,
  otherwise: Answer,
  act: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const late = new AbortController();
  const takeBack = timers.after(millisMax, () => {
    late.abort();
  });
  const signal = AbortSignal.any([stop, late.signal]);
  // Also if whoever is asked does not listen.
  const over = new Promise<Answer>((resolve) => {
    const giveUp = () => {
      resolve(otherwise);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    if (signal.aborted) giveUp();
  });
  try {
    return await Promise.race([act(signal), over]);
  } catch (error) {
    if (!stop.aborted) onTrouble(error, "carrying out an action");
    return otherwise;
  } finally {
    takeBack();
  }
}
