import type { ModelDelta, ModelMessage, ModelRequest, ModelTool } from "../../../commands/ports/model.js";
import { offlineModel, offlineModelName } from "../../../infra/model/offline.js";

export const string = { type: "string" };

/** A tool as the registry would show it. */
export const toolOf = (name: string, properties: Record<string, unknown>, required: readonly string[]): ModelTool => ({
  name,
  description: `Does ${name}.`,
  parameters: { type: "object", properties, required, additionalProperties: false },
});
const notes = toolOf("notes_write", { title: string, text: string }, ["title", "text"]);
export const weather = toolOf(
  "weather_look_up",
  { city: string, days: { type: "integer" }, hourly: { type: "boolean" }, fields: { type: "array", items: string } },
  ["city"],
);
const artifact = toolOf(
  "artifact_put",
  { title: string, content: string, share: { type: ["number", "null"] }, extra: { type: "object" } },
  ["title", "content"],
);
export const clock = toolOf("clock", {}, []);
const sum = toolOf("numbers_add", { numbers: { type: "array", items: { type: "number" } } }, ["numbers"]);
export const tools = [notes, weather, artifact, clock, sum];

export const requestOf = (messages: readonly ModelMessage[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: offlineModelName,
  messages: [{ role: "system", content: "You are Pincer." }, ...messages],
  tools,
  mayCallTools: true,
  outputTokensMax: 100_000,
  ...more,
});
export const user = (content: string): ModelMessage => ({ role: "user", content });
export const calledBy = (name: string): ModelMessage => ({
  role: "assistant",
  content: "",
  toolCalls: [{ id: "offline_1", name, argumentsJson: "{}" }],
});
export const resultOf = (content: string): ModelMessage => ({ role: "tool", toolCallId: "offline_1", content });

export const never = new AbortController().signal;

export async function ask(request: ModelRequest) {
  const deltas: ModelDelta[] = [];
  const answer = await offlineModel.ask(request, (delta) => deltas.push(delta), never);
  return { ...answer, deltas };
}
export const answerTo = async (text: string, more: Partial<ModelRequest> = {}) => ask(requestOf([user(text)], more));
export const joined = (deltas: readonly ModelDelta[], kind: ModelDelta["kind"]) =>
  deltas.map((delta) => (delta.kind === kind ? delta.text : "")).join("");

/** The calls that a text leads to, each as its name and its arguments. */
export async function callsFor(text: string, more: Partial<ModelRequest> = {}): Promise<[string, unknown][]> {
  const { toolCalls } = await answerTo(text, more);
  return toolCalls.map(({ name, argumentsJson }) => [name, JSON.parse(argumentsJson) as unknown]);
}
