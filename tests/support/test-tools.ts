import { BehaviorSubject, filter, firstValueFrom } from "rxjs";
import { z } from "zod";
import { tool, type ReadingTool, type Tool, type ToolResult } from "../../domain/approvals/index.js";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";

const args = z.strictObject({ city: z.string().min(1).max(100).describe("Which city.") });

type Execute = ReadingTool<z.infer<typeof args>>["execute"];

export const weatherOrigin = "https://weather.example/today";

/** A tool that reads what others wrote, and does as the test tells it. */
export class Weather {
  readonly #runs = new BehaviorSubject(0);
  #execute: Execute = async ({ city }) => report(`It is sunny in ${city}.`);

  readonly tool: Tool = tool({
    name: "weather_look_up",
    version: 1,
    description: "Look up the weather of a city.",
    args,
    risk: RiskClass.READ,
    identity: "none",
    kind: "reading",
    destination: "external",
    isResultUntrusted: true,
    execute: (wanted, call) => {
      this.#runs.next(this.runs + 1);
      return this.#execute(wanted, call);
    },
  });

  /** How often it was run, in all. */
  get runs(): number {
    return this.#runs.value;
  }

  /** Resolves when it was run so often. */
  async started(runs: number): Promise<void> {
    await firstValueFrom(this.#runs.pipe(filter((count) => count >= runs)));
  }

  /** What it does from now on. */
  does(execute: Execute): void {
    this.#execute = execute;
  }

  tells(text: string): void {
    this.#execute = async () => report(text);
  }
}

export function report(text: string, isFailure = false): ToolResult {
  return { text, isFailure, origin: weatherOrigin };
}

/** Answers nothing until it is told to give up. */
export const hangs: Execute = (_args, { signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(new Error("it was told to give up"));
    });
  });

/** The call with which a model asks for it. */
export function weatherIn(city: string, id = "call_1"): { id: string; name: string; arguments: string } {
  return { id, name: "weather_look_up", arguments: JSON.stringify({ city }) };
}
