import { expect, test } from "@jest/globals";
import { approvalNeeded, notificationQueued } from "../../../domain/notifications/index.js";
import { systemIds } from "../../../infra/ports/system-ids.js";

const derive = (...parts: readonly string[]) => systemIds.derive(...parts);
const about = { type: "approval_expiring", reason: "", resourceKind: "action", resourceId: "a" } as const;
const idOf = ({ value }: ReturnType<typeof approvalNeeded>) => value.notificationId;

test("an owner is told that an approval is needed, by ids and nothing else", () => {
  expect(approvalNeeded(derive, "a")).toEqual({
    case: "notificationQueued",
    value: {
      notificationId: derive("notification", "approval_needed", "", "action", "a"),
      type: "approval_needed",
      reason: "",
      resourceKind: "action",
      resourceId: "a",
    },
  });
});

test("the same news about the same thing has the same id, and other news another", () => {
  const all = [
    approvalNeeded(derive, "a"),
    approvalNeeded(derive, "b"),
    notificationQueued(derive, about),
    notificationQueued(derive, { ...about, resourceKind: "job" }),
    notificationQueued(derive, { ...about, type: "proactive_reach_out", reason: "operator_attention_needed" }),
    notificationQueued(derive, { ...about, type: "proactive_reach_out", reason: "important_update" }),
  ].map(idOf);
  expect(new Set(all).size).toBe(all.length);
  expect(idOf(notificationQueued(derive, { ...about }))).toBe(idOf(notificationQueued(derive, about)));
});
