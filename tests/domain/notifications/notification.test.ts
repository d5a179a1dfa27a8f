import { describe, expect, test } from "@jest/globals";
import { approvalExpiring, approvalNeeded, notificationQueued } from "../../../domain/notifications/index.js";
import { hour, minute } from "../../../domain/shared/index.js";
import { systemIds } from "../../../infra/ports/system-ids.js";
import { noon } from "../../support/appends.js";

const derive = (...parts: readonly string[]) => systemIds.derive(...parts);
const action = { actionId: "a", toolCallId: "call", expiresAt: noon };
const about = { type: "job_failed", reason: "", resourceKind: "action", resourceId: "a" } as const;
const idOf = ({ value }: ReturnType<typeof approvalNeeded>) => value.notificationId;
/** How many notices they are, by their ids. */
const count = (...notices: readonly ReturnType<typeof approvalNeeded>[]) => new Set(notices.map(idOf)).size;

test("an owner is told that an approval is needed, by ids and nothing else", () => {
  expect(approvalNeeded(derive, action)).toEqual({
    case: "notificationQueued",
    value: {
      notificationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: "approval_needed",
      reason: "",
      resourceKind: "action",
      resourceId: "a",
    },
  });
});

describe("the same notice", () => {
  test("is one of the same type and reason, about the same thing", () => {
    const reachOut = { ...about, type: "proactive_reach_out" } as const;
    const all = [
      approvalNeeded(derive, action),
      approvalNeeded(derive, { ...action, actionId: "b", toolCallId: "another" }),
      approvalExpiring(derive, action),
      notificationQueued(derive, about, noon),
      notificationQueued(derive, { ...about, resourceKind: "job" }, noon),
      notificationQueued(derive, { ...reachOut, reason: "operator_attention_needed" }, noon),
      notificationQueued(derive, { ...reachOut, reason: "important_update" }, noon),
    ];
    expect(count(...all)).toBe(all.length);
    expect(count(notificationQueued(derive, { ...about }, noon), notificationQueued(derive, about, noon))).toBe(1);
  });

  test("comes again after ten minutes, and not before", () => {
    const at = (millis: number) => notificationQueued(derive, about, noon + millis);
    expect(count(at(0), at(1), at(10 * minute - 1))).toBe(1);
    expect(count(at(0), at(10 * minute), at(hour))).toBe(3);
  });

  test("is that of another revision of the action, which it leads to", () => {
    const notices = Array.from({ length: 50 }, (_, n) =>
      approvalNeeded(derive, { ...action, actionId: `revision ${n}`, expiresAt: noon + n * 1_000 }),
    );
    expect(count(...notices)).toBe(1);
    expect(notices.at(-1)?.value.resourceId).toBe("revision 49");
    expect(count(...notices, approvalNeeded(derive, { ...action, expiresAt: noon + hour }))).toBe(2);
  });

  test("that an action expires comes once, whenever it is looked at", () => {
    expect(count(approvalExpiring(derive, action), approvalExpiring(derive, { ...action }))).toBe(1);
  });
});
