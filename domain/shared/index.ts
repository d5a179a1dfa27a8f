export { argumentsDepthMax, argumentsLengthMax, tooLarge, whatIsOdd } from "./arguments.js";
export { accept, nothing, refuse, type Decision, type Refusal } from "./decision.js";
export type { EventType, Fact, LoggedEvent, NewFact, PayloadOf, RecordedEvent, Told } from "./event.js";
export { inHex } from "./hex.js";
export { day, hour, minute, second, toInstant, toText, toTimestamp, type Instant, type Timestamp } from "./instant.js";
export { refusals, type RefusalCode } from "./refusals.js";
export { refuseText, refuseTextIfAny } from "./text.js";
export { unseen } from "./unseen.js";
