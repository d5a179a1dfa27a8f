import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { NewFact } from "../../../domain/shared/index.js";
import { idempotencyProjection } from "../../../projections/approvals/idempotency.js";
import { proposedActionsProjection } from "../../../projections/approvals/proposed-actions.js";
import { untrustedContentProjection } from "../../../projections/approvals/untrusted-content.js";
import { auditLogProjection } from "../../../projections/audit/audit-log.js";
import { notificationsProjection } from "../../../projections/notifications/notifications.js";
import { ThreadEventSchema } from "../../../proto/gen/pincer/protocol/v1/envelope_pb.js";
import { anyMessage } from "../../support/any-message.js";
import { appendOf, record, write } from "../../support/appends.js";
import { openBackend, temporaryDirectory } from "../../support/backend.js";
import { differences } from "../../support/conversation.js";

const projections = [
  proposedActionsProjection,
  idempotencyProjection,
  untrustedContentProjection,
  auditLogProjection,
  notificationsProjection,
];
// An erasure is not made up: it says what is missing.
const types = new Set(projections.flatMap(({ on }) => Object.keys(on)).filter((type) => type !== "eventsErased"));

const fact = fc.oneof(
  ...ThreadEventSchema.fields
    .filter((field) => types.has(field.localName))
    .map((field) =>
      anyMessage(field.message!).map((value) => ({ case: field.localName, value }) as unknown as NewFact),
    ),
);
const anyWrite = fc.record({
  stream: fc.constantFrom("action-a", "action-b", "notification-n", "elsewhere", "action-"),
  facts: fc.array(fact, { minLength: 1, maxLength: 8 }),
  threadId: fc.constantFrom("t", null),
});

test("whatever events say, and wherever, none stops a projection", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyWrite, { minLength: 1, maxLength: 8 }), async (writes) => {
      const directory = temporaryDirectory();
      const backend = await openBackend(directory.path, projections);
      try {
        for (const { stream, facts, threadId } of writes) {
          await record(backend.log, appendOf({ ...write(stream, "any", ...facts), threadId }));
        }
        await backend.projector.reached(backend.log.head().position);
        expect(await differences(backend, projections)).toEqual([]);
      } finally {
        backend.close();
        directory.remove();
      }
    }),
    { numRuns: 60, timeout: 10_000 },
  );
});
