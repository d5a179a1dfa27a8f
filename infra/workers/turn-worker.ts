import type { Kysely } from "kysely";
import type { Logger } from "pino";
import { TokenBudget } from "../../commands/budgets/token-budget.js";
import type { Handling } from "../../commands/handle.js";
import type { Clock, Ids } from "../../commands/ports/index.js";
import type { ModelChain } from "../../commands/threads/turn-ports.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { Config, ModelConfig } from "../config/config.js";
import type { SqliteEventLog } from "../event-log/index.js";
import { conversationsIn } from "../lookups/conversations.js";
import { tokenUsageIn } from "../lookups/token-usage.js";
import { chatCompletionsModel } from "../model/chat-completions.js";
import { offlineModel, offlineModelName } from "../model/offline.js";
import type { ModelTimeouts } from "../model/timeouts.js";
import { systemRandom } from "../ports/system-random.js";
import { systemTimers } from "../ports/system-timers.js";
import type { Equipment } from "../server/equipment.js";
import { TurnWorker, type TurnObserver } from "./turns.js";

interface Foundation extends Handling {
  readonly log: SqliteEventLog;
  readonly query: Kysely<ReadModelTables>;
  readonly ids: Ids;
  readonly clock: Clock;
}

/** The worker that runs turns, with the models and tools there are. */
export function turnWorker(
  foundation: Foundation,
  equipment: Equipment,
  config: Pick<Config, "model" | "tokensPerDay"> & { readonly modelTimeouts: ModelTimeouts },
  observer: TurnObserver,
  logger: Logger,
): TurnWorker {
  const { log, readModels, query } = foundation;
  const ports = {
    ...foundation,
    ...equipment,
    timers: systemTimers,
    random: systemRandom,
    conversations: conversationsIn(log, readModels, query),
    budget: new TokenBudget(config.tokensPerDay, tokenUsageIn(log, readModels, query)),
    models: modelsOf(config.model, config.modelTimeouts),
    onTrouble: (error: unknown, doing: string) => {
      logger.error({ err: error, doing }, "something broke");
    },
  };
  const { primary, fallback } = ports.models;
  logger.info({ provider: primary.model.provider, model: primary.name, fallback: fallback?.name }, "asking this model");
  return new TurnWorker(ports, log, query, observer, logger);
}

function modelsOf(config: ModelConfig | null, timeouts: ModelTimeouts): ModelChain {
  if (config === null) return { primary: { model: offlineModel, name: offlineModelName }, fallback: null };
  const { baseUrl, apiKey, primary, fallback } = config;
  const provider = providerOf(baseUrl);
  const model = chatCompletionsModel({ provider, baseUrl, apiKey, timeouts });
  return { primary: { model, name: primary }, fallback: fallback === null ? null : { model, name: fallback } };
}

function providerOf(baseUrl: string): string {
  const { hostname } = new URL(baseUrl);
  return hostname.endsWith("openrouter.ai") ? "openrouter" : hostname;
}
