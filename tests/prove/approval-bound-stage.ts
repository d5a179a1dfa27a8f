import {
  approveAction,
  approveActions,
  cancelAction,
  rejectAction,
  type Seen,
} from "../../commands/approvals/decide-action.js";
import { editAction } from "../../commands/approvals/edit-action.js";
import { actionStream } from "../../commands/approvals/streams.js";
import type { Provenance } from "../../commands/ports/index.js";
import type { Hash } from "../../domain/approvals/index.js";
import { ActionStatus } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { appendTo, fromOwner } from "../support/backend.js";
import { Life } from "./effect-once-life.js";
import { proposeTo, type Proposed } from "./effect-once-proposed.js";
import { Provider, providerTool, type ProviderToolOptions } from "./effect-once-provider.js";
import { FastTime } from "./effect-once-time.js";

const hour = 3_600_000;
const streamEventsMax = 1_000;

export interface PostArgs {
  readonly to: string;
  readonly text: string;
}

/** What may be different after a restart. */
export interface Setup extends ProviderToolOptions {
  readonly policyVersion?: string;
  readonly hasNoTool?: boolean;
}

/** One owner with their devices, one server, one provider; the server can be started anew on the same files. */
export class Stage {
  readonly provider = new Provider();
  readonly time = new FastTime();
  #life: Life | null = null;
  #canaries = 0;

  constructor(
    private readonly directory: string,
    private readonly hash: Hash,
  ) {}

  async restart({ policyVersion = "p1", hasNoTool = false, ...options }: Setup = {}): Promise<void> {
    await this.end();
    this.#life = await Life.begin(this.directory, {
      time: this.time,
      tools: () => (hasNoTool ? [] : [providerTool(this.provider, options)]),
      hash: this.hash,
      policyVersion,
    });
    this.#life.start();
  }

  async end(): Promise<void> {
    await this.#life?.end();
    this.#life = null;
  }

  get life(): Life {
    if (this.#life === null) throw new Error("the server was not started");
    return this.#life;
  }

  propose(name: string): Promise<Proposed> {
    return proposeTo(this.life, name, this.time);
  }

  /** Answers whether it was accepted. */
  async approve(actionId: string, seen: Uint8Array | null, device = "phone"): Promise<boolean> {
    const { outcome } = await approveAction(this.life.ports, { actionId, seen, ...this.#by(device) });
    return outcome === "done";
  }

  async approveTogether(actions: readonly Seen[]): Promise<boolean> {
    return (await approveActions(this.life.ports, { actions, ...this.#by("phone") })).outcome === "done";
  }

  async reject(actionId: string, device = "phone"): Promise<boolean> {
    const command = { actionId, reason: "no", ...this.#by(device) };
    return (await rejectAction(this.life.ports, command)).outcome === "done";
  }

  async cancel(actionId: string): Promise<boolean> {
    return (await cancelAction(this.life.ports, { actionId, ...this.#by("phone") })).outcome === "done";
  }

  /** The id of the revision, or null if it was refused. */
  async edit(actionId: string, { to, text }: PostArgs): Promise<string | null> {
    const edited = await editAction(this.life.ports, { actionId, args: { to, text }, ...this.#by("phone") });
    return edited.outcome === "done" ? edited.actionId : null;
  }

  cardOf(actionId: string): Uint8Array {
    const action = this.life.action(actionId);
    return action.status === "none" ? new Uint8Array() : action.plan.cardHash;
  }

  /** Somebody changes what would be done behind the owner's back, and leaves what they were shown. */
  async swap(actionId: string, { to, text }: PostArgs): Promise<void> {
    const { log } = this.life.backend;
    const [proposed] = log.readStream(actionStream(actionId), 0, 1);
    if (proposed?.envelope?.payload.case !== "proposedActionCreated") throw new Error("there is nothing to swap");
    const value = { ...proposed.envelope.payload.value, args: { to, text } };
    await log.append(appendTo(actionStream(actionId), "thread", { case: "proposedActionCreated", value }));
  }

  timesApproved(actionId: string): number {
    const events = this.life.backend.log.readStream(actionStream(actionId), 0, streamEventsMax);
    return events.filter(({ envelope }) => {
      const payload = envelope?.payload;
      return payload?.case === "proposedActionStatusChanged" && payload.value.status === ActionStatus.APPROVED;
    }).length;
  }

  /** Long after: whatever may be done has been done, and something else that was approved last is done as well. */
  async everythingDone(...actionIds: readonly string[]): Promise<void> {
    this.time.skip(hour);
    const decided = actionIds.filter((actionId) => this.life.action(actionId).status !== "pending");
    await this.life.settled(decided);
    if (this.life.ports.toolbox.find("post") === null) return;
    const canary = await this.propose(`canary-${++this.#canaries}`);
    if (!(await this.approve(canary.actionId, canary.cardHash))) throw new Error("the last action was not approved");
    await this.life.settled([canary.actionId]);
  }

  /** What was done, but for what showed that things are done. */
  get effects(): readonly PostArgs[] {
    const real = this.provider.ledger.filter(({ key }) => !key.includes("canary"));
    return real.map(({ to, text }) => ({ to, text }));
  }

  #by(device: string): { readonly at: number; readonly provenance: Provenance } {
    return { at: this.time.clock.now(), provenance: { ...fromOwner, actor: { ...fromOwner.actor, id: device } } };
  }
}
