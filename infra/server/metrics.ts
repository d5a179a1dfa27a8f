import { statSync } from "node:fs";
import { Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import type { Commit } from "../event-log/index.js";

const secondsBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 2];
const groupBuckets = [1, 2, 4, 8, 16, 32, 64, 128];

/** What is looked at only when somebody asks. */
export interface Gauges {
  openStreams(): number;
  /** How many events the slowest stream has still to be sent. */
  replayLag(): number;
  projectionLag(): number;
  runningTurns(): number;
  readonly logFile: string;
}

/** The figures of a running server, in Prometheus' own form. Names of methods and codes, and never what was said. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #calls = this.#counter("pincer_rpc_calls_total", "Calls that have ended.", ["method", "code"]);
  readonly #refusals = this.#counter("pincer_refusals_total", "Calls that were refused, by reason.", ["code"]);
  readonly #gaps = this.#counter("pincer_stream_gaps_total", "Streams that ended with a gap.", []);
  readonly #resumes = this.#counter("pincer_stream_resumes_total", "Streams opened by a client that had a cursor.", []);
  readonly #events = this.#counter("pincer_log_events_total", "Events appended by this process.", []);
  readonly #turns = this.#counter("pincer_turns_total", "Turns that have ended, by how.", ["outcome"]);
  readonly #modelCalls = this.#counter("pincer_model_calls_total", "Calls to models, by how they ended.", ["outcome"]);
  readonly #tokens = this.#counter("pincer_model_tokens_total", "Tokens of answered calls.", ["kind"]);
  readonly #callSeconds = new Summary({
    name: "pincer_rpc_seconds",
    help: "From a call's arrival to its answer, of the last ten minutes. Streams do not count.",
    labelNames: ["method"],
    percentiles: [0.5, 0.95, 0.99],
    maxAgeSeconds: 600,
    ageBuckets: 5,
    registers: [this.#registry],
  });
  readonly #appendSeconds = new Histogram({
    name: "pincer_append_seconds",
    help: "From asking for an append until it is durable.",
    buckets: secondsBuckets,
    registers: [this.#registry],
  });
  readonly #groupSize = new Histogram({
    name: "pincer_append_group_size",
    help: "Appends that shared one transaction.",
    buckets: groupBuckets,
    registers: [this.#registry],
  });

  called(method: string, code: string, refusal: string | null, millis: number | null): void {
    this.#calls.inc({ method, code });
    if (millis !== null) this.#callSeconds.observe({ method }, millis / 1_000);
    if (refusal !== null) this.#refusals.inc({ code: refusal });
  }

  resumed(): void {
    this.#resumes.inc();
  }

  gap(): void {
    this.#gaps.inc();
  }

  /** `outcome` is "completed", or the code of the failure. */
  turnEnded(outcome: string): void {
    this.#turns.inc({ outcome });
  }

  /** `outcome` is "finished", or the reason of the failure. */
  modelCalled(outcome: string, inputTokens: number, outputTokens: number): void {
    this.#modelCalls.inc({ outcome });
    this.#tokens.inc({ kind: "input" }, inputTokens);
    this.#tokens.inc({ kind: "output" }, outputTokens);
  }

  committed({ events, waitedMillis }: Commit): void {
    this.#events.inc(events);
    this.#groupSize.observe(waitedMillis.length);
    for (const millis of waitedMillis) this.#appendSeconds.observe(millis / 1_000);
  }

  watch(gauges: Gauges): void {
    this.#gauge("pincer_open_streams", "Streams that are open.", () => gauges.openStreams());
    this.#gauge("pincer_replay_lag_events", "Events the slowest stream is behind.", () => gauges.replayLag());
    this.#gauge("pincer_projection_lag_events", "Events the read models are behind.", () => gauges.projectionLag());
    this.#gauge("pincer_running_turns", "Turns that are being run.", () => gauges.runningTurns());
    this.#gauge("pincer_wal_bytes", "Size of the log's write-ahead log.", () => walBytes(gauges.logFile));
    this.#gauge("process_resident_memory_bytes", "Memory in use.", () => process.memoryUsage.rss());
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.#registry] });
  }

  #gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }
}

function walBytes(logFile: string): number {
  return statSync(`${logFile}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
