import { isDeepStrictEqual } from "node:util";
import type { ModelMessage, ModelRequest } from "../../commands/ports/index.js";
import { chatRequestOf } from "../../infra/model/chat-request.js";

/** What a question is on the wire, as far as it differs from one to the next. */
interface ChatRequest extends Pick<ReturnType<typeof chatRequestOf>, "model" | "messages" | "tools" | "tool_choice"> {
  readonly max_tokens: number;
}

/** The last questions that the model was asked, as they have to be put to be the same again. */
export async function lastAsked(baseUrl: string, count: number): Promise<ModelRequest[]> {
  const response = await fetch(`${baseUrl}/last-asked`, { method: "POST", body: JSON.stringify({ count }) });
  const bodies = (await response.json()) as ChatRequest[];
  return bodies.map((body) => {
    const request = requestOf(body);
    const again: unknown = JSON.parse(JSON.stringify(chatRequestOf(request)));
    if (!isDeepStrictEqual(again, body)) throw new Error("what was asked cannot be asked again");
    return request;
  });
}

function requestOf({ model, messages, tools, tool_choice, max_tokens: outputTokensMax }: ChatRequest): ModelRequest {
  return {
    model,
    messages: messages.map(messageOf),
    tools: (tools ?? []).flatMap((tool) =>
      tool.type === "function" ? [{ description: "", parameters: {}, ...tool.function }] : [],
    ),
    mayCallTools: tool_choice !== "none",
    outputTokensMax,
  };
}

function messageOf(message: ChatRequest["messages"][number]): ModelMessage {
  const content = typeof message.content === "string" ? message.content : "";
  if (message.role === "tool") return { role: "tool", toolCallId: message.tool_call_id, content };
  if (message.role !== "assistant") return { role: message.role === "user" ? "user" : "system", content };
  const toolCalls = (message.tool_calls ?? []).flatMap((call) =>
    call.type === "function" ? [{ id: call.id, name: call.function.name, argumentsJson: call.function.arguments }] : [],
  );
  return { role: "assistant", content, toolCalls };
}
