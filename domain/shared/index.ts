export { accept, nothing, refuse, type Decision, type Refusal } from "./decision.js";
export type { EventType, Fact, LoggedEvent, NewFact, PayloadOf, RecordedEvent } from "./event.js";
export type { Instant } from "./instant.js";
export { refusals, type RefusalCode } from "./refusals.js";
export { refuseText } from "./text.js";
