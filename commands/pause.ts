import type { Timers } from "./ports/index.js";

/** Waits so long, or until the signal says that there is no point in it. */
export function pause(timers: Timers, millis: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const leave = () => {
      takeBack();
      resolve();
    };
    const takeBack = timers.after(millis, () => {
      over.removeEventListener("abort", leave);
      resolve();
    });
    over.addEventListener("abort", leave, { once: true });
    if (over.aborted) leave();
  });
}
