import type { JsonObject } from "@bufbuild/protobuf";
import type { Kysely } from "kysely";
import { actionsPerBundleMax } from "../../commands/approvals/decide-action.js";
import type { Lookups, ReadModels } from "../../commands/ports/index.js";
import { policyRules, policySummary, Toolbox, type Hash, type Tool } from "../../domain/approvals/index.js";
import { artifactPut, notesWrite } from "../../domain/memory/index.js";
import { hour } from "../../domain/shared/index.js";
import type { ReadModelTables } from "../../read-models/tables.js";
import type { Config } from "../config/config.js";
import type { LogReader } from "../event-log/index.js";
import { lookupsIn } from "../lookups/actions.js";
import { systemHash } from "../ports/system-hash.js";

/** What actions are proposed, decided and carried out with. */
export interface Equipment {
  readonly toolbox: Toolbox;
  readonly hash: Hash;
  readonly lookups: Lookups;
  /** What is in force, for the owner. */
  readonly policy: JsonObject;
  /** The hash of all of it that binds an action. */
  readonly policyVersion: string;
  /** How long the owner has to decide. */
  readonly approvalMillis: number;
}

const versionLength = 16;

export function equipmentOf(
  { log, readModels, query }: { log: LogReader; readModels: ReadModels; query: Kysely<ReadModelTables> },
  { approvalHours, tokensPerDay, allowsRawReasoning, undoSeconds }: Config,
  tools: readonly Tool[],
): Equipment {
  const toolbox = new Toolbox([notesWrite, artifactPut, ...tools].map((tool) => withUndo(tool, undoSeconds)));
  const policy = policySummary(policyRules, toolbox.all, { approvalHours, actionsPerBundleMax });
  // Shown, and no part of the version: they have no bearing on what may be approved.
  const settings = { tokens_per_day: tokensPerDay, allows_raw_reasoning: allowsRawReasoning };
  return {
    toolbox,
    hash: systemHash,
    lookups: lookupsIn(log, readModels, query),
    policy: { ...policy, settings },
    policyVersion: Buffer.from(systemHash(policy)).toString("hex").slice(0, versionLength),
    approvalMillis: approvalHours * hour,
  };
}

/** The owner says how long they want to be able to take an approval back. A tool that needs no such time has none. */
function withUndo(tool: Tool, undoSeconds: number | null): Tool {
  const isChanged = tool.kind === "acting" && tool.undoSeconds > 0 && undoSeconds !== null;
  return isChanged ? { ...tool, undoSeconds } : tool;
}
