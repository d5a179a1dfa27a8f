import { afterEach, beforeEach } from "@jest/globals";
import type { Tool } from "../../../domain/approvals/index.js";
import { ApprovalsService, type Approval } from "../../../proto/gen/pincer/protocol/v1/approvals_pb.js";
import type { ThreadEvent } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { ThreadsService } from "../../../proto/gen/pincer/protocol/v1/threads_pb.js";
import { TurnsService } from "../../../proto/gen/pincer/protocol/v1/turns_pb.js";
import { calls, ModelServer, says } from "../../support/model-server.js";
import { Outlet, outletTool } from "../../support/outlet.js";
import { startServer, type TestServer } from "../../support/server.js";
import { Weather } from "../../support/test-tools.js";
import { workbench } from "../../support/workbench.js";
import { loggedEvents, untilLogged } from "../rpc/logged-events.js";

/** A call of the outlet as a model makes it. */
export function post(to: string, text = "hello", id = `post_${to}`) {
  return { id, name: "outlet_post", arguments: JSON.stringify({ to, text }) };
}

type Step = readonly { readonly id: string; readonly name: string; readonly arguments: string }[];

/** For each test a server with an outlet, a tool that reads what others wrote, and a model that does as it is told. */
export class ScriptedConveyor {
  server!: TestServer;
  outlet!: Outlet;
  model!: ModelServer;
  weather!: Weather;
  readonly #bench = workbench();

  constructor(private readonly tools: (url: string) => readonly Tool[] = () => []) {
    beforeEach(async () => {
      this.outlet = await Outlet.listen();
      this.model = await ModelServer.listen();
      this.model.otherwise(says("Well."));
      this.weather = new Weather();
      await this.start();
    });
    afterEach(async () => {
      await this.server.stop();
      this.model.close();
      this.outlet.close();
    });
  }

  async start(): Promise<void> {
    const { url } = this.outlet;
    const model = { baseUrl: this.model.baseUrl, apiKey: "k", primary: "primary", fallback: null };
    const tools = [outletTool(url), this.weather.tool, ...this.tools(url)];
    this.server = await startServer(this.#bench.path, { model }, { tools });
  }

  async restart(): Promise<void> {
    await this.server.stop();
    await this.start();
  }

  /** The model makes these calls, in as many steps; answers how the turn stands then. */
  async turn(...steps: readonly Step[]) {
    const { threadId } = await this.server.operator(ThreadsService).createThread({});
    return this.turnIn(threadId, ...steps);
  }

  async turnIn(threadId: string, ...steps: readonly Step[]) {
    this.model.will(...steps.map((step) => calls(...step)));
    const sent = await this.server.operator(TurnsService).sendTurn({ threadId, userText: "Do what is to be done." });
    return { threadId, ...sent };
  }

  async pending(): Promise<readonly Approval[]> {
    return (await this.server.operator(ApprovalsService).listApprovals({})).items;
  }

  async approve(actionId: string): Promise<void> {
    await this.server.operator(ApprovalsService).approveAction({ actionId });
  }

  async until(kind: Parameters<typeof untilLogged>[1], count = 1): Promise<void> {
    await untilLogged(this.server, kind, count);
  }

  /** What policy has said so far, in its order. */
  async rulings(): Promise<string[]> {
    const events: readonly ThreadEvent[] = await loggedEvents(this.server);
    return events.flatMap(({ payload }) => (payload.case === "policyDecisionMade" ? [payload.value.reason] : []));
  }
}
