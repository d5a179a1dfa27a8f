import { accept, nothing, refuse, refuseTextIfAny, type Decision, type Fact } from "../shared/index.js";

const tasksBytesMax = 64 * 1024;
const intervalMinutesMin = 5;
const intervalMinutesMax = 24 * 60;

/** What the assistant looks after by itself, and how often. Off until the owner says otherwise. */
export interface Heartbeat {
  readonly enabled: boolean;
  readonly intervalMinutes: number;
  readonly tasksMarkdown: string;
}

export const initialHeartbeat: Heartbeat = { enabled: false, intervalMinutes: 30, tasksMarkdown: "" };

export function evolveHeartbeat(heartbeat: Heartbeat, fact: Fact): Heartbeat {
  if (fact.case !== "heartbeatConfigured") return heartbeat;
  if (fact.value === null) return initialHeartbeat;
  const { enabled, intervalMinutes, tasksMarkdown } = fact.value;
  return { enabled, intervalMinutes, tasksMarkdown };
}

export function configureHeartbeat(heartbeat: Heartbeat, wanted: Heartbeat): Decision {
  const { enabled, intervalMinutes, tasksMarkdown } = wanted;
  if (intervalMinutes < intervalMinutesMin || intervalMinutes > intervalMinutesMax) {
    return refuse("interval_out_of_range", { intervalMinutesMin, intervalMinutesMax });
  }
  const isSame =
    heartbeat.enabled === enabled &&
    heartbeat.intervalMinutes === intervalMinutes &&
    heartbeat.tasksMarkdown === tasksMarkdown;
  if (isSame) return nothing; // A repeat is not news.
  return refuseTextIfAny(tasksMarkdown, tasksBytesMax) ?? accept({ case: "heartbeatConfigured", value: { ...wanted } });
}
