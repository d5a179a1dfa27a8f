import type { Timers } from "../../commands/ports/index.js";

export const systemTimers: Timers = {
  after: (millis, act) => {
    const timer = setTimeout(act, millis);
    return () => {
      clearTimeout(timer);
    };
  },
};
