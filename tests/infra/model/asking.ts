import { afterEach, beforeEach } from "@jest/globals";
import { ModelError, type ModelAnswer, type ModelDelta, type ModelRequest } from "../../../commands/ports/model.js";
import { chatCompletionsModel } from "../../../infra/model/chat-completions.js";
import { defaultModelTimeouts, type ModelTimeouts } from "../../../infra/model/timeouts.js";
import { ModelServer } from "../../support/model-server.js";

export const canaryKey = "sk-or-v1-c4n4ryC4N4RY0123456789abcdefABCDEF";

export const question: ModelRequest = {
  model: "some/model",
  messages: [{ role: "user", content: "Good morning" }],
  tools: [],
  mayCallTools: true,
  outputTokensMax: 1_000,
};

export interface Asking {
  readonly request?: ModelRequest;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly timeouts?: Partial<ModelTimeouts>;
  readonly signal?: AbortSignal;
  readonly onDelta?: (delta: ModelDelta) => void;
}

/** A server for each test, and a model that asks it. */
export function modelBench() {
  let server: ModelServer;
  beforeEach(async () => {
    server = await ModelServer.listen();
  });
  afterEach(() => {
    server.close();
  });

  const modelOf = ({ baseUrl = server.baseUrl, apiKey = canaryKey, timeouts = {} }: Asking = {}) =>
    chatCompletionsModel({ provider: "tester", baseUrl, apiKey, timeouts: { ...defaultModelTimeouts, ...timeouts } });
  const ask = async (asking: Asking = {}): Promise<ModelAnswer> => {
    const { request = question, onDelta = () => undefined, signal = new AbortController().signal } = asking;
    return modelOf(asking).ask(request, onDelta, signal);
  };
  return {
    get server() {
      return server;
    },
    modelOf,
    ask,
    /** The answer, and all pieces that came before it. */
    hear: async (asking: Asking = {}) => {
      const deltas: ModelDelta[] = [];
      return { answer: await ask({ ...asking, onDelta: (delta) => deltas.push(delta) }), deltas };
    },
    /** The error that it must end with. */
    refusal: async (asking: Asking = {}): Promise<ModelError> => failureOf(ask(asking)),
  };
}

async function failureOf(asked: Promise<ModelAnswer>): Promise<ModelError> {
  const outcome: unknown = await asked.catch((error: unknown) => error);
  if (outcome instanceof ModelError) return outcome;
  throw new Error("this was to fail with a ModelError", { cause: outcome });
}
