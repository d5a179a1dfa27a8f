import type { Client } from "@connectrpc/connect";
import { afterEach, beforeEach } from "@jest/globals";
import type { Timers } from "../../../commands/ports/index.js";
import type { Tool } from "../../../domain/approvals/index.js";
import type { EventType, RecordedEvent } from "../../../domain/shared/index.js";
import type { Config } from "../../../infra/config/config.js";
import { systemTimers } from "../../../infra/ports/system-timers.js";
import { ApprovalsService, type Approval } from "../../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import { ActionStatus } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { SystemService } from "../../../proto/gen/pincer/protocol/v1/system_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { Outlet, outletTool } from "../../support/outlet.js";
import { startServer, type TestServer } from "../../support/server.js";
import { workbench } from "../../support/workbench.js";
import { movableClock, type MovableClock } from "../rpc/movable-clock.js";

/** So that nobody waits as long as a provider may take before it is asked again. */
const fastTimers: Timers = { after: (millis, act) => systemTimers.after(millis / 10, act) };

/** What is different from the usual. */
interface Setting {
  readonly config?: Partial<Config>;
  readonly timers?: Timers;
  /** What the model can use, given where the outlet is. */
  readonly tools?: (url: string) => readonly Tool[];
}

/** What a turn came to, as far as whoever sent it was told. */
export interface Sent {
  readonly threadId: string;
  readonly turnId: string;
  /** Empty if it has proposed nothing. */
  readonly actionId: string;
  readonly assistantMessage: string;
}

/**
 * For each test a server whose model proposes what the owner says, an outlet where it would happen, and a clock that
 * stands still until it is moved.
 */
export class Conveyor {
  server!: TestServer;
  outlet!: Outlet;
  clock!: MovableClock;
  #messages = 0;
  #setting: Setting;
  readonly #bench = workbench();

  constructor(private readonly usual: Setting = {}) {
    this.#setting = usual;
    beforeEach(async () => {
      this.outlet = await Outlet.listen();
      this.clock = movableClock();
      this.#setting = this.usual;
      await this.start();
    });
    afterEach(async () => {
      await this.server.stop();
      this.outlet.close();
    });
  }

  get approvals(): Client<typeof ApprovalsService> {
    return this.server.operator(ApprovalsService);
  }

  get system(): Client<typeof SystemService> {
    return this.server.operator(SystemService);
  }

  get turns(): Client<typeof TurnsService> {
    return this.server.operator(TurnsService);
  }

  get directory(): string {
    return this.#bench.path;
  }

  async start(): Promise<void> {
    const { config = {}, timers = fastTimers, tools = (url: string) => [outletTool(url)] } = this.#setting;
    const surroundings = { clock: this.clock, timers, tools: tools(this.outlet.url) };
    this.server = await startServer(this.#bench.path, { activeDevicesMax: 2, ...config }, surroundings);
  }

  async restart(different: Setting = {}): Promise<void> {
    await this.server.stop();
    this.#setting = { ...this.#setting, ...different };
    await this.start();
  }

  async newThread(): Promise<string> {
    return (await this.server.operator(ThreadsService).createThread({})).threadId;
  }

  /** Says something, in a thread of its own if none is given; answers when the turn has ended or waits for the owner. */
  async say(userText: string, thread?: string): Promise<Sent> {
    const threadId = thread ?? (await this.newThread());
    this.#messages += 1;
    const clientMessageId = `message-${this.#messages}`;
    const { turnId, actionId, assistantMessage } = await this.turns.sendTurn({ threadId, userText, clientMessageId });
    return { threadId, turnId, actionId, assistantMessage };
  }

  propose(text = "hello", thread?: string): Promise<Sent> {
    return this.say(`outlet_post to: ada text: "${text}"`, thread);
  }

  /** Approves what it shows, as a person would. */
  async approve(actionId: string): Promise<ActionStatus> {
    const { approval } = await this.approvals.getApproval({ actionId });
    const { status } = await this.approvals.approveAction({ actionId, cardHash: approval!.cardHash });
    return status;
  }

  async approved(text = "hello"): Promise<Sent> {
    const sent = await this.propose(text);
    await this.approve(sent.actionId);
    return sent;
  }

  /** How an action stands, once everything that is recorded now is shown. */
  async look(actionId: string): Promise<Approval> {
    await this.shown();
    const { approval } = await this.approvals.getApproval({ actionId });
    return approval!;
  }

  /** Resolves when the read models show all that is recorded now: a command is answered after that. */
  async shown(): Promise<void> {
    await this.newThread();
  }

  async statusOf(actionId: string): Promise<string> {
    return ActionStatus[(await this.look(actionId)).status];
  }

  /** Wakes whoever looks what is due: something new was proposed. */
  async nudge(): Promise<void> {
    await this.propose("nudge");
  }

  recorded(): RecordedEvent[] {
    const { log } = this.server.running;
    const events: RecordedEvent[] = [];
    for (let page = log.readAll(0, 500); page.length > 0; page = log.readAll(events.length, 500)) {
      events.push(...page.map((row) => log.decode(row)));
    }
    return events;
  }

  recordedOf(actionId: string): string[] {
    return this.recorded().flatMap(({ stream, type }) => (stream === `action-${actionId}` ? [type] : []));
  }

  /** Resolves when so many events of a kind are recorded, of one action, turn or thread if it is given. */
  async until(type: EventType, about = "", count = 1): Promise<RecordedEvent> {
    const { log } = this.server.running;
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.recorded().filter((event) => event.type === type && isAbout(event, about));
        const last = found[count - 1];
        if (last === undefined) return;
        looking.unsubscribe();
        resolve(last);
      };
      const looking = log.grown.subscribe({ next: look, error: reject });
      look();
    });
  }

  /** All that the owner was told of an action without having asked, the latest first. */
  async newsOf(actionId: string): Promise<string[]> {
    await this.shown();
    const { items } = await this.system.listNotifications({ pageSize: 200 });
    const about = items.filter(({ resourceId }) => resourceId === actionId);
    return about.map(({ type, reason }) => `${type}${reason && ` ${reason}`}`);
  }
}

function isAbout({ stream, threadId, envelope }: RecordedEvent, about: string): boolean {
  return about === "" || stream === `action-${about}` || threadId === about || envelope?.turnId === about;
}
