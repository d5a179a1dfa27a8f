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
  StreamWrite,
  VersionConflict,
} from "./event-log.js";
export type { Ids } from "./ids.js";
export type { ReadModels } from "./read-models.js";
