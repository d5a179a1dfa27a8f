import { BehaviorSubject, filter, firstValueFrom } from "rxjs";
import type { Effect, Intent, Tool } from "../../../domain/approvals/index.js";
import { outletTool } from "../../support/outlet.js";

/** The outlet's tool, whose server can be stopped in the middle of a call. */
export class LossyTool {
  readonly #begun = new BehaviorSubject(0);

  constructor(private readonly loses: "before" | "after") {}

  /** Posts, or does not, and then answers nothing until it is told to give up. */
  tool(url: string): Tool {
    const usual = outletTool(url);
    if (usual.kind !== "acting") throw new Error("it is another tool");
    return {
      ...usual,
      execute: async (args: unknown, intent: Intent) => {
        if (this.loses === "after") await usual.execute(args, intent);
        this.#begun.next(this.#begun.value + 1);
        return new Promise<Effect>((_, reject) => {
          intent.signal.addEventListener("abort", () => {
            reject(new Error("it was told to give up"));
          });
        });
      },
    };
  }

  /** Resolves when somebody waits for its answer. */
  async isWaitedFor(): Promise<void> {
    await firstValueFrom(this.#begun.pipe(filter((count) => count > 0)));
  }
}
