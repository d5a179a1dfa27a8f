import { setTimeout as pause } from "node:timers/promises";
import {
  done,
  finish,
  ModelServer,
  streams,
  text,
  toolCall,
  usage,
  type Exchange,
  type Piece,
} from "../support/model-server.js";

/** So long between the pieces of an answer, and for a tool to find what it looks for: kills hit every phase. */
const pieceMillis = 6;
const lookUpMillis = 25;

interface ScriptedStep {
  readonly words: readonly string[];
  readonly calls: readonly { readonly name: string; readonly args: Readonly<Record<string, string>> }[];
}

/** Five answers. Some with words and some without, one call or two, notes and look-ups; the last one is the end. */
const script: readonly ScriptedStep[] = [
  step("I write down what you ask, and look how the weather will be.", note("Question"), lookUp("weather")),
  step("", lookUp("trains")),
  step("There is a train at nine. I keep that in mind for you.", note("Train")),
  step("", note("Plan"), lookUp("hotels")),
  step("Take the train at nine; it stays dry, and there is a room for you."),
];

export const stepCount = script.length;
export const callCount = callsBefore(stepCount);

/** A question to the model: by which life of the server, and for which step, from 1; 0 for one that makes no sense. */
export interface Asked {
  readonly life: number;
  readonly step: number;
}

export interface LookedUp {
  readonly life: number;
  readonly executionId: string;
}

/**
 * Plays the script, and is also what the tool looks things up in. Which answer comes next it sees in the question: so
 * many results of tools, so many steps are behind it.
 */
export class ScriptedModel {
  readonly asked: Asked[] = [];
  readonly lookedUp: LookedUp[] = [];

  private constructor(private readonly server: ModelServer) {
    server.otherwise((exchange) => this.#answer(exchange));
  }

  static async listen(): Promise<ScriptedModel> {
    return new ScriptedModel(await ModelServer.listen());
  }

  get baseUrl(): string {
    return this.server.baseUrl;
  }

  close(): void {
    this.server.close();
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { path, body } = exchange.request;
    if (path.endsWith("/look-up")) return this.#lookUp(exchange);
    const results = body.messages.filter(({ role }) => role === "tool").length;
    const index = script.findIndex((_, at) => callsBefore(at) === results);
    this.asked.push({ life: lifeOf(body.model), step: index + 1 });
    const answer = script[index];
    if (answer === undefined) exchange.response.writeHead(400).end(`there is no answer to ${results} results`);
    else await streams(piecesOf(answer).flatMap((piece) => [piece, () => pause(pieceMillis)]))(exchange);
  }

  async #lookUp({ request: { body }, response }: Exchange): Promise<void> {
    const { life, executionId, topic } = body as unknown as LookedUp & { readonly topic: string };
    this.lookedUp.push({ life, executionId });
    await pause(lookUpMillis);
    response.end(`All there is to know about ${topic}.`);
  }
}

/** Each life of a server asks for a model of its own, so that nobody has to guess who asks. */
export function modelNameIn(life: number): string {
  return `life-${life}`;
}

function lifeOf(modelName: string): number {
  return Number(modelName.replace("life-", ""));
}

function piecesOf({ words, calls }: ScriptedStep): Piece[] {
  const wanted = calls.flatMap(({ name, args }, index) => [
    toolCall({ index, id: `call-${index}`, name, arguments: "" }),
    ...halves(JSON.stringify(args)).map((half) => toolCall({ index, arguments: half })),
  ]);
  return [...text(...words), ...wanted, finish(calls.length === 0 ? "stop" : "tool_calls"), usage(), done];
}

function halves(json: string): string[] {
  const middle = Math.floor(json.length / 2);
  return [json.slice(0, middle), json.slice(middle)];
}

function callsBefore(stepIndex: number): number {
  return script.slice(0, stepIndex).reduce((sum, { calls }) => sum + calls.length, 0);
}

function step(words: string, ...calls: ScriptedStep["calls"]): ScriptedStep {
  return { words: words.match(/\S+\s*/g) ?? [], calls };
}

function note(title: string): ScriptedStep["calls"][number] {
  return { name: "notes_write", args: { title, text: `What there is to say about ${title}.` } };
}

function lookUp(topic: string): ScriptedStep["calls"][number] {
  return { name: "look_up", args: { topic } };
}
