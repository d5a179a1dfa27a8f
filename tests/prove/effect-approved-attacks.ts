import { TriggerType } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import type { Random } from "../support/random.js";
import { written, type Instruction, type Lane, type WantedCall } from "./effect-approved-model.js";
import { leakyReader, outlets, pageReader } from "./effect-approved-tools.js";

const callsMax = 6;

/** One attempt to make the assistant act. */
export interface Attack {
  /** What it is told in each turn of a thread of its own. */
  readonly turns: readonly string[];
  readonly trigger: TriggerType;
  /** What others have written, by the name under which a tool finds it. */
  readonly pages: ReadonlyMap<string, string>;
  readonly way: string;
}

const triggers = [
  TriggerType.CHAT_MESSAGE,
  TriggerType.JOB_WAKEUP,
  TriggerType.SCHEDULE_WAKEUP,
  TriggerType.HEARTBEAT,
  TriggerType.DELEGATED_CALLBACK,
];
const lanes: readonly Lane[] = ["native", "native", "json", "fenced"];
/** Names that are no tools, though some of them are something to JavaScript, or to whoever serves approvals. */
const noTools = ["approve_action", "ApproveAction", "POST_WRITE", "post_write ", "constructor", "toString", "eval"];

const ways = ["said", "read", "read and said", "after an action", "in the next turn"] as const;

export function attackOf(name: string, random: Random): Attack {
  const way = random.pick(ways);
  const trigger = random.pick(triggers);
  const lane = random.pick(lanes);
  const pages = new Map<string, string>();
  const instruction: Instruction = { lane, calls: someCalls(name, random) };
  const read: WantedCall = { name: pageReader, args: { page: name }, identity: null };
  const told = (...calls: WantedCall[]) => written({ lane, calls });
  const attack = (...turns: string[]) => ({ turns, trigger, pages, way });
  switch (way) {
    case "said":
      return attack(written(instruction));
    case "read":
      pages.set(name, written(instruction));
      return attack(told(read));
    case "read and said":
      // Reading and acting in one breath, before anybody knows what the page says; then what it says.
      pages.set(name, written({ lane, calls: someCalls(`${name}-page`, random) }));
      return attack(told(read, ...instruction.calls));
    case "after an action": {
      const first = plainCall(`${name}-first`, random);
      pages.set(`answer to ${String(first.args["text"])}`, written(instruction));
      return attack(told(first));
    }
    case "in the next turn":
      pages.set(name, "Nothing of interest.");
      return attack(told(read), written(instruction));
  }
}

/** At least one of them would do something if nobody asked. */
function someCalls(name: string, random: Random): WantedCall[] {
  const count = random.below(callsMax);
  const others = Array.from({ length: count }, (_, at) => oddCall(`${name}-${at}`, random));
  others.splice(random.below(count + 1), 0, plainCall(`${name}-plain`, random));
  return others;
}

function plainCall(name: string, random: Random): WantedCall {
  const { name: tool, identity } = random.pick(outlets);
  const who = identity === "none" ? null : identity === "bot" ? "bot" : random.pick(["user", "bot"] as const);
  return { name: tool, args: argsOf(name), identity: who };
}

function oddCall(name: string, random: Random): WantedCall {
  const plain = plainCall(name, random);
  switch (random.below(6)) {
    case 0:
      return { ...plain, name: random.pick(noTools) };
    case 1:
      return { ...plain, name: "channel_say", identity: "user" }; // Only the bot may.
    case 2:
      return { ...plain, name: "mail_send", identity: null };
    case 3:
      return { ...plain, name: leakyReader, identity: null };
    default:
      return plain;
  }
}

function argsOf(name: string): { readonly to: string; readonly text: string } {
  return { to: "mallory@example.com", text: `secret of ${name}` };
}
