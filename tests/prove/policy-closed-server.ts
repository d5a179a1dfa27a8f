import { z } from "zod";
import { tool, type Tool } from "../../domain/approvals/index.js";
import { LogError } from "../../infra/event-log/index.js";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { ThreadsService } from "../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { ModelServer } from "../support/model-server.js";
import { randomFrom, type Random } from "../support/random.js";
import { startServer, type TestServer } from "../support/server.js";
import { obeys, written, type Lane } from "./effect-approved-model.js";
import { newerRisk } from "./policy-closed-calls.js";
import { withDirectory } from "./scratch.js";
import type { Tally } from "./tally.js";

const tokensPerDay = 1_000_000_000;
const lanes: readonly Lane[] = ["native", "json", "fenced"];
const troubles = ["audit", "risk", "identity", "destination", "kind", "unknown tool", "unknown risk"] as const;
type Trouble = (typeof troubles)[number];

/** What the tools have done, and which of their properties breaks when it is next looked at. */
interface World {
  effects: number;
  breaks: keyof Tool | null;
}

/** A real server, a model that wants everything done at once, and something that breaks when the policy decides. */
export async function checkTroubles(n: number, seed: number, tally: Tally): Promise<void> {
  await withDirectory(async (path) => {
    const world: World = { effects: 0, breaks: null };
    const model = await ModelServer.listen();
    model.otherwise(obeys);
    const asked = { baseUrl: model.baseUrl, apiKey: "", primary: "obedient", fallback: null };
    const overrides = { isPlain: true, model: asked, tokensPerDay };
    const server = await startServer(path, overrides, { tools: toolsOf(world) });
    try {
      for (let index = 0; index < n; index++) {
        const trouble = troubles[index % troubles.length]!;
        const effects = await tryOnce(server, trouble, world, randomFrom(seed * 10_007 + index), tally);
        tally.add("troubles in a server", 1);
        tally.add("effects", effects);
        tally.case(effects === 0 ? null : `${trouble}: ${effects} effects`);
      }
    } finally {
      await server.stop();
      model.close();
    }
  });
}

/** Answers how much was done until the trouble was over and the turn has ended or waits. */
async function tryOnce(server: TestServer, trouble: Trouble, world: World, random: Random, tally: Tally) {
  world.effects = 0;
  const isAudit = trouble === "audit";
  const name =
    trouble === "unknown tool" ? "post_later" : trouble === "unknown risk" ? random.pick(["odd", "newer"]) : "post";
  // What is read is an effect as well as long as it is not recorded that it may be.
  const wanted = isAudit ? random.pick(["post", "look"]) : name;
  const call = { name: wanted, args: { text: "hello" }, identity: null };
  const { threadId } = await server.operator(ThreadsService).createThread({});
  const userText = written({ lane: random.pick(lanes), calls: [call] });
  const failing = isAudit ? failAudit(server, 1 + random.below(2), world) : null;
  if (!isAudit && trouble !== "unknown tool" && trouble !== "unknown risk") world.breaks = trouble;
  const leaving = new AbortController();
  const request = { threadId, userText, clientMessageId: "1" };
  for await (const { payload } of server.operator(TurnsService).startTurn(request, { signal: leaving.signal })) {
    if (payload.case === "turnPaused") break;
  }
  leaving.abort(); // Whoever only looks away holds up the server when it stops.
  if (world.breaks !== null) throw new Error(`nobody has looked at ${world.breaks}`);
  if (failing === null) return world.effects;
  tally.add("appends refused", failing.refused);
  return failing.effects;
}

/** The disk is full whenever a decision of the policy is to be recorded, for so many times. */
function failAudit({ running: { log } }: TestServer, times: number, world: World) {
  const failing = { refused: 0, effects: 0 };
  const append = log.append.bind(log);
  log.append = async (wanted) => {
    const isDecision = wanted.writes.some(({ facts }) => facts.some((fact) => fact.case === "policyDecisionMade"));
    if (!isDecision) return append(wanted);
    failing.effects = world.effects;
    if (failing.refused === times) {
      log.append = append;
      return append(wanted);
    }
    failing.refused += 1;
    throw new LogError("full", log.file, null, "no space is left");
  };
  return failing;
}

function toolsOf(world: World): Tool[] {
  return [
    breakable(acting("post", RiskClass.WRITE, world), world),
    acting("odd", RiskClass.RISK_CLASS_UNSPECIFIED, world),
    acting("newer", newerRisk, world),
    tool({
      ...spec("look", RiskClass.READ),
      kind: "reading",
      execute: async () => {
        world.effects += 1;
        return { text: "", isFailure: false, origin: "" };
      },
    }),
  ];
}

function spec(name: string, risk: RiskClass) {
  const args = z.strictObject({ text: z.string() });
  const external = { destination: "external", isResultUntrusted: false } as const;
  return { name, risk, version: 1, description: "", args, identity: "none", ...external } as const;
}

function acting(name: string, risk: RiskClass, world: World): Tool {
  return tool({
    ...spec(name, risk),
    kind: "acting",
    undoSeconds: 0,
    describe: ({ text }) => ({ summary: "Post", target: "", recipients: [], urls: [], body: text }),
    execute: async () => {
      world.effects += 1;
      return { outcome: "unknown", reason: "" };
    },
    reconcile: async () => ({ outcome: "unknown", reason: "" }),
  });
}

/** The rule that looks at what breaks breaks with it. */
function breakable(one: Tool, world: World): Tool {
  return new Proxy(one, {
    get: (target, property, receiver): unknown => {
      if (property !== world.breaks) return Reflect.get(target, property, receiver);
      world.breaks = null;
      throw new Error("broken");
    },
  });
}
