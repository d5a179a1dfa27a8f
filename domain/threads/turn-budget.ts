/** How much one turn may do. Requested by a client, applied by us. */
export interface TurnBudget {
  /** How often the model is asked to go on. */
  readonly maxToolSteps: number;
  /** What tools may tell the model, in tokens. */
  readonly maxToolTokens: number;
  /** How much of the conversation the model is shown. */
  readonly maxContextMessages: number;
}

/** What a model may say in one step. */
export const outputTokensPerStepMax = 8_192;
/** What one use of a tool may tell it. */
export const resultTokensMax = 16_000;

interface Bound {
  readonly min: number;
  readonly usual: number;
  readonly max: number;
}

export const turnBudgetBounds: Readonly<Record<keyof TurnBudget, Bound>> = {
  maxToolSteps: { min: 1, usual: 10, max: 25 },
  maxToolTokens: { min: 500, usual: 32_000, max: 100_000 },
  maxContextMessages: { min: 1, usual: 50, max: 200 },
};

/** What a request comes to: nothing asked for is the usual, and too much is as much as there is. */
export function effectiveBudget(requested: Partial<TurnBudget> | null): TurnBudget {
  const within = (name: keyof TurnBudget) => {
    const { min, usual, max } = turnBudgetBounds[name];
    const asked = requested?.[name] ?? 0;
    return asked === 0 ? usual : Math.min(max, Math.max(min, asked));
  };
  return {
    maxToolSteps: within("maxToolSteps"),
    maxToolTokens: within("maxToolTokens"),
    maxContextMessages: within("maxContextMessages"),
  };
}
