import { expect, test } from "@jest/globals";
import type { Equipment } from "../../../infra/server/equipment.js";
import { LogError } from "../../../infra/event-log/index.js";
import { systemClock } from "../../../infra/ports/system-clock.js";
import { systemTimers } from "../../../infra/ports/system-timers.js";
import { executorPorts } from "../../../infra/workers/executor-ports.js";
import { quiet } from "../../support/backend.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

const failed = (code: string) => Object.assign(new Error("it failed"), { code });

test("what cannot be recorded because of the disk is told from what cannot be recorded at all", async () => {
  const foundation = { ...(await bench.backend()), clock: systemClock, timers: systemTimers };
  const { isDiskTrouble } = executorPorts(foundation, {} as Equipment, quiet);
  expect(isDiskTrouble(new LogError("full", "log.db", null, "no room"))).toBe(true);
  expect(isDiskTrouble(failed("SQLITE_IOERR_READ"))).toBe(true);
  expect(isDiskTrouble(failed("SQLITE_TOOBIG"))).toBe(false);
  expect(isDiskTrouble(new RangeError("an event may take so many bytes"))).toBe(false);
});
