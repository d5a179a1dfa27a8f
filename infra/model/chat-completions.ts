import { APIError, OpenAI } from "openai";
import { ModelError, type Model, type ModelAnswer } from "../../commands/ports/model.js";
import { AnswerInProgress } from "./answer.js";
import { Call } from "./call.js";
import { chatRequestOf } from "./chat-request.js";
import { failuresOf } from "./failures.js";
import type { ModelTimeouts } from "./timeouts.js";
import { wireWith } from "./wire.js";

/** A model behind any server that speaks OpenAI's streamed chat completions: OpenRouter, or an Ollama at home. */
export function chatCompletionsModel(options: {
  /** Its name, for the record and in messages. */
  readonly provider: string;
  /** Up to and without "/chat/completions". */
  readonly baseUrl: string;
  /** "" for a server that wants none. */
  readonly apiKey: string;
  readonly timeouts: ModelTimeouts;
}): Model {
  const { provider, apiKey, timeouts } = options;
  const baseUrl = new URL(options.baseUrl).href;
  const failures = failuresOf(provider, apiKey);
  const wire = wireWith(apiKey);

  return {
    provider,
    ask: async (request, onDelta, signal) => {
      signal.throwIfAborted();
      const call = new Call(failures, timeouts, signal);
      const answer = new AnswerInProgress(failures);
      try {
        for await (const chunk of chunksOf(call, clientFor(call), chatRequestOf(request))) {
          for (const delta of answer.add(chunk)) onDelta(delta);
          call.signal.throwIfAborted();
        }
        return answer.finish();
      } catch (error) {
        return whatIsThere(answer, call.fail(error));
      } finally {
        call.end();
      }
    },
  };

  function clientFor(call: Call): OpenAI {
    return new OpenAI({
      baseURL: baseUrl,
      fetch: wire(call),
      maxRetries: 0,
      // The clocks are ours; this one, for the head of the response, must only not be sooner.
      timeout: timeouts.totalMillisMax + 10_000,
      logLevel: "off",
      // What is not given it takes from the environment. The key it does not need: see the wire.
      apiKey: "unknown",
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
    });
  }
}

/** The chunks of the answer. Whatever goes wrong on the way is a reason that may be shown. */
async function* chunksOf(
  call: Call,
  client: OpenAI,
  request: OpenAI.Chat.ChatCompletionCreateParamsStreaming,
): AsyncGenerator<unknown, void> {
  try {
    yield* await client.chat.completions.create(request, { signal: call.signal });
  } catch (error) {
    throw call.fail(failureOf(error, call));
  }
  // The openai package ends a stream that was aborted as if it were complete.
  call.signal.throwIfAborted();
}

function failureOf(error: unknown, { failures }: Call): ModelError {
  if (error instanceof APIError) return failures.ofErrorInStream(error.error);
  if (error instanceof SyntaxError) return failures.tell("malformed", "sent a chunk that is not JSON");
  return failures.tell("malformed", "sent an answer that cannot be read");
}

/** An answer that is complete is not thrown away because the connection was lost before its tokens were counted. */
function whatIsThere(answer: AnswerInProgress, reason: unknown): ModelAnswer {
  const isLostAfterwards = reason instanceof ModelError && ["cut", "timeout"].includes(reason.trouble);
  if (answer.isFinished && isLostAfterwards) return answer.finish();
  throw reason;
}
