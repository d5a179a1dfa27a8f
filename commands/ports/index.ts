export type { Clock } from "./clock.js";
export type {
  Append,
  Appended,
  AppendResult,
  CommandConflict,
  CommandKey,
  EventLog,
  ExpectedVersion,
  JsonValue,
  Provenance,
  SecretChanges,
  Secrets,
  StreamWrite,
  VersionConflict,
} from "./event-log.js";
export type { Ids } from "./ids.js";
export type { ReadModels } from "./read-models.js";
