import type { OpenAI } from "openai";
import type { ModelMessage, ModelRequest, ModelTool } from "../../commands/ports/model.js";

type ChatRequest = OpenAI.Chat.ChatCompletionCreateParamsStreaming;

/** The question, as the protocol has it. */
export function chatRequestOf(request: ModelRequest): ChatRequest {
  const { model, messages, tools, mayCallTools, outputTokensMax } = request;
  // OpenAI itself prefers max_completion_tokens, which is not known everywhere.
  const limits = { max_tokens: outputTokensMax };
  return {
    model,
    messages: messages.map(chatMessage),
    // Servers refuse an empty list of tools, and some of them refuse calls in messages if there is no list.
    ...(tools.length === 0 ? {} : { tools: tools.map(chatTool) }),
    ...(tools.length === 0 || mayCallTools ? {} : { tool_choice: "none" }),
    ...limits,
    stream: true,
    stream_options: { include_usage: true },
  };
}

function chatMessage(message: ModelMessage): OpenAI.Chat.ChatCompletionMessageParam {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.content };
    case "assistant":
      if (message.toolCalls.length === 0) return { role: "assistant", content: message.content };
      return {
        role: "assistant",
        content: message.content === "" ? null : message.content,
        tool_calls: message.toolCalls.map(({ id, name, argumentsJson }) => ({
          id,
          type: "function",
          function: { name, arguments: argumentsJson },
        })),
      };
    case "tool":
      return { role: "tool", tool_call_id: message.toolCallId, content: message.content };
  }
}

function chatTool({ name, description, parameters }: ModelTool): OpenAI.Chat.ChatCompletionFunctionTool {
  return { type: "function", function: { name, description, parameters } };
}
