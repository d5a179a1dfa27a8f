// A model that answers at once, in a process of its own: node turns-model-child.js. It says where it is, as one line of
// JSON, and ends with its standard input. What it answers is what the owner's message asks for, see `askFor`.
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
import { plansIn, type ModelPlace } from "./turns-plan.js";

const model = await ModelServer.listen();
model.otherwise(answer);
process.stdout.write(`${JSON.stringify({ baseUrl: model.baseUrl } satisfies ModelPlace)}\n`);
process.stdin.resume().once("end", () => process.exit(0));

async function answer(exchange: Exchange): Promise<void> {
  const { path, body } = exchange.request;
  if (path.endsWith("/last-asked")) {
    const asked = model.requests.filter((request) => request.path.endsWith("/chat/completions"));
    exchange.response.end(JSON.stringify(asked.slice(-Number(body["count"])).map((request) => request.body)));
    return;
  }
  const { steps, chunks, gapMillis } = plansIn(JSON.stringify(body.messages)).at(-1)!;
  const results = body.messages.filter(({ role }) => role === "tool").length;
  const said = Array.from({ length: chunks }, () => (gapMillis > 0 ? stamped(gapMillis) : text("word ")));
  const call = toolCall({ index: 0, id: "call-1", name: "notes_write", arguments: note(results) });
  const end = results + 1 < steps ? [call, finish("tool_calls")] : [...text("."), finish("stop")];
  await streams([...said.flat(), ...end, usage(), done])(exchange);
}

/** A chunk whose text is the time at which it leaves, and then a pause. */
function stamped(gapMillis: number): Piece[] {
  return [async ({ response }) => response.write(text(`${process.hrtime.bigint()} `)[0]), () => pause(gapMillis)];
}

function note(index: number): string {
  return JSON.stringify({ title: `Note ${index}`, text: "Something that is worth to be kept for a while." });
}
