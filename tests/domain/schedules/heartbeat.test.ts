import { describe, test } from "@jest/globals";
import {
  configureHeartbeat,
  evolveHeartbeat,
  initialHeartbeat,
  type Heartbeat,
} from "../../../domain/schedules/index.js";
import { given } from "../../support/given.js";

const heartbeat = { initial: initialHeartbeat, evolve: evolveHeartbeat };
const wanted: Heartbeat = { enabled: true, intervalMinutes: 60, tasksMarkdown: "- look at the mail" };
const configured = (value: Heartbeat) => ({ case: "heartbeatConfigured", value }) as const;

describe("the heartbeat", () => {
  test("is as the owner wants it, and asked for again it is no news", () => {
    given(heartbeat)
      .when(configureHeartbeat, wanted)
      .thenRecords(configured(wanted))
      .when(configureHeartbeat, wanted)
      .thenDoesNothing();
  });

  test.each([0, 4, 24 * 60 + 1])("does not come every %i minutes", (intervalMinutes) => {
    given(heartbeat)
      .when(configureHeartbeat, { ...wanted, intervalMinutes })
      .thenRefuses("interval_out_of_range", { intervalMinutesMin: 5, intervalMinutesMax: 1440 });
  });

  test("changes with any of its parts", () => {
    given(heartbeat, configured(wanted))
      .when(configureHeartbeat, { ...wanted, enabled: false })
      .thenRecords(configured({ ...wanted, enabled: false }));
  });
});
