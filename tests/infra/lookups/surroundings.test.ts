import { describe, expect, test } from "@jest/globals";
import type { NewFact } from "../../../domain/shared/index.js";
import { lookupsIn } from "../../../infra/lookups/actions.js";
import { ExecutionOutcome } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";
import { finished, intended, toolFinished } from "../../support/action-facts.js";
import { appendOf, record, write } from "../../support/appends.js";
import type { Backend } from "../../support/backend.js";
import { open, say } from "../../support/conversation.js";
import { workbench } from "../../support/workbench.js";

const bench = workbench();

async function reads(backend: Backend, count: number): Promise<void> {
  const pages = Array.from({ length: count }, (_, index) => toolFinished(`page ${index + 1}`));
  await record(backend.log, appendOf(write("t", "any", ...pages)));
}

function surroundings({ log, projector, store }: Backend) {
  return lookupsIn(log, projector, store.query).surroundings("t");
}

describe("what is around a call", () => {
  test("is told with its place in the log, so that it is known what came first", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await say(backend, "t", "before");
    await reads(backend, 1);
    await say(backend, "t", "after");
    const { untrusted, ownerWords, isCutOff } = await surroundings(backend);
    const [before, after] = ownerWords;
    expect([before?.text, untrusted[0]?.text, after?.text]).toEqual(["before", "page 1", "after"]);
    expect(before!.position).toBeLessThan(untrusted[0]!.position!);
    expect(untrusted[0]!.position!).toBeLessThan(after!.position);
    expect(isCutOff).toBe(false);
  });

  test("has what an action has answered at the place of the answer, and not of the action", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    const happens = (fact: NewFact) =>
      record(backend.log, appendOf({ ...write("action-a", "any", fact), threadId: "t" }));
    await happens(intended());
    await say(backend, "t", "write to ann@example.com");
    await happens(finished(ExecutionOutcome.DONE, { untrusted: true, result: "ann@example.com", origin: "a mail" }));
    const { untrusted, ownerWords } = await surroundings(backend);
    expect(ownerWords[0]!.position).toBeLessThan(untrusted[0]!.position!);
  });

  test("is what was read last, and it is said if that is not all", async () => {
    const backend = await bench.backend();
    await open(backend, "t");
    await reads(backend, 50);
    expect(await surroundings(backend)).toMatchObject({ isCutOff: false });
    await reads(backend, 1);
    const { untrusted, isCutOff } = await surroundings(backend);
    expect(isCutOff).toBe(true);
    expect(untrusted).toHaveLength(50);
    expect(untrusted.at(-1)?.text).toBe("page 2");
  });
});
