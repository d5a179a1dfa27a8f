import { Presets, SingleBar } from "cli-progress";

const lineEveryMillis = 2_000;

interface Progress {
  update(done: number, total: number): void;
  end(): void;
}

/**
 * Shows how far some work has come, until it ends or fails: a bar with rate and time left on a terminal, a plain line
 * now and then otherwise. On standard error.
 */
export async function withProgress<T>(
  what: string,
  unit: string,
  work: (onProgress: Progress["update"]) => Promise<T>,
): Promise<T> {
  const progress = process.stderr.isTTY ? showBar(what, unit) : showLines(what, unit);
  try {
    return await work((done, total) => {
      progress.update(done, total);
    });
  } finally {
    progress.end();
  }
}

function showBar(what: string, unit: string): Progress {
  const started = performance.now();
  const bar = new SingleBar(
    {
      stream: process.stderr,
      format: `${what} {bar} {percentage} % | {value}/{total} ${unit} | {rate} ${unit}/s | {eta_formatted} left`,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  return {
    update: (done, total) => {
      const state = { rate: rateOf(done, started) };
      if (!bar.isActive) bar.start(total, done, state);
      bar.setTotal(total);
      bar.update(done, state);
    },
    end: () => {
      bar.stop();
    },
  };
}

function showLines(what: string, unit: string): Progress {
  const started = performance.now();
  let next = started + lineEveryMillis;
  return {
    update: (done, total) => {
      if (performance.now() < next) return;
      next = performance.now() + lineEveryMillis;
      const rate = rateOf(done, started);
      const left = rate === 0 ? "?" : Math.ceil((total - done) / rate);
      process.stderr.write(`${what}: ${done}/${total} ${unit}, ${rate} ${unit}/s, ${left} s left\n`);
    },
    end: () => undefined,
  };
}

function rateOf(done: number, started: number): number {
  return Math.round(done / Math.max((performance.now() - started) / 1000, 0.001));
}
