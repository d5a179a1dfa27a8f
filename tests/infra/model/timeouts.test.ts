import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { EventEmitter, once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import * as it from "../../support/model-server.js";
import { modelBench } from "./asking.js";

const bench = modelBench();
/** Long enough for any machine to come by, short enough to wait for. */
const soon = 50;

/** Accepts a connection, and says nothing: who wants TLS is never connected. */
let mute: Server;
const muted = new Set<Socket>();
let muteUrl: string;
beforeEach(async () => {
  mute = createServer((socket) => muted.add(socket.on("error", () => undefined)));
  mute.listen(0, "127.0.0.1");
  await once(mute, "listening");
  muteUrl = `https://127.0.0.1:${(mute.address() as AddressInfo).port}/v1`;
});
afterEach(() => {
  mute.close();
  for (const socket of muted) socket.destroy();
  muted.clear();
});

describe("it takes too long", () => {
  test("to connect", async () => {
    const error = await bench.refusal({ baseUrl: muteUrl, timeouts: { connectMillisMax: soon } });
    expect(error).toMatchObject({
      trouble: "timeout",
      message: `tester could not be connected to within ${soon} ms`,
      isPassing: true,
    });
  });

  test("to begin", async () => {
    bench.server.will(it.hangsBeforeHead);
    const error = await bench.refusal({ timeouts: { firstByteMillisMax: soon } });
    expect(error).toMatchObject({ trouble: "timeout", message: `tester sent no first byte within ${soon} ms` });
    await bench.server.abandoned(1);
  });

  test.each<[string, it.Piece[]]>([
    ["before the first event", []],
    ["inside the text", it.text("Well, ")],
    ["inside an event", ['data: {"choices"']],
    ["inside a tool call", [it.toolCall({ index: 0, id: "call_1", name: "notes_write", arguments: '{"te' })]],
  ])("to go on %s", async (_name, pieces) => {
    bench.server.will(it.streams(pieces, it.hang));
    const error = await bench.refusal({ timeouts: { idleMillisMax: soon } });
    expect(error).toMatchObject({
      trouble: "timeout",
      message: `tester went idle inside its answer, for more than ${soon} ms`,
    });
    await bench.server.abandoned(1);
  });

  test.each<[string, it.Behaviour]>([
    ["while it writes", it.streams(it.drip(it.text("and ")[0]!))],
    ["while it only keeps the line open", it.streams(it.drip(": wait\n\n"))],
    ["while it writes an event without end", it.streams(it.drip("data: and\n"))],
    ["while it does not begin", it.hangsBeforeHead],
  ])("to end, %s", async (_name, behaviour) => {
    bench.server.will(behaviour);
    const error = await bench.refusal({ timeouts: { totalMillisMax: 4 * soon } });
    expect(error).toMatchObject({
      trouble: "timeout",
      message: `tester did not come to the end of its answer within a total of ${4 * soon} ms`,
    });
    await bench.server.abandoned(1);
  });

  test("only if it stops: who goes on is not idle", async () => {
    bench.server.will(it.streams(it.drip(it.text("and ")[0]!)));
    const error = await bench.refusal({ timeouts: { idleMillisMax: 1_000, totalMillisMax: 2_000 } });
    expect(error.message).toContain("a total of 2000 ms");
  });
});

describe("a failure that does not come to the end of its words", () => {
  const failsForEver = (status: number, piece: it.Piece): it.Behaviour => {
    return async (exchange) => {
      exchange.response.writeHead(status).write('{"error":');
      await (typeof piece === "function" ? piece(exchange) : piece);
    };
  };

  test.each<[string, (exchange: it.Exchange) => Promise<unknown>]>([
    ["hangs", it.hang],
    ["goes on and on", it.drip(" ")],
  ])("and %s is what its status says, and is not waited for", async (_what, piece) => {
    bench.server.will(failsForEver(401, piece));
    const timeouts = { idleMillisMax: soon, totalMillisMax: 4 * soon };
    const message = "tester answered with status 401";
    expect(await bench.refusal({ timeouts })).toMatchObject({ trouble: "unauthorized", message });
    await bench.server.abandoned(1);
  });

  test("is left by the one who asked whenever he likes", async () => {
    const reason = new Error("the owner has changed his mind");
    const controller = new AbortController();
    bench.server.will(
      failsForEver(401, async ({ hungUp }) => {
        controller.abort(reason);
        await hungUp;
      }),
    );
    await expect(bench.ask({ signal: controller.signal })).rejects.toBe(reason);
  });
});

describe("the one who asked leaves", () => {
  const reason = new Error("the owner has changed his mind");

  /** What it rejects with, and what it said after the asker had left. */
  async function leaving(asking: { baseUrl?: string }, come: () => Promise<unknown>) {
    const controller = new AbortController();
    let isGone = false;
    const late: string[] = [];
    const asked = bench.ask({
      ...asking,
      signal: controller.signal,
      onDelta: ({ text }) => isGone && late.push(text),
    });
    const outcome = asked.catch((error: unknown) => error);
    await come();
    controller.abort(reason);
    isGone = true;
    return { outcome: await outcome, late };
  }

  test("before anything was sent", async () => {
    await expect(bench.ask({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(bench.server.connections).toBe(0);
  });

  test("at once after", async () => {
    const { outcome } = await leaving({}, async () => undefined);
    expect(outcome).toBe(reason);
  });

  test("while it connects", async () => {
    const { outcome } = await leaving({ baseUrl: muteUrl }, () => once(mute, "connection"));
    expect(outcome).toBe(reason);
  });

  test("before it answers", async () => {
    bench.server.will(it.hangsBeforeHead);
    expect((await leaving({}, () => bench.server.asked(1))).outcome).toBe(reason);
    await bench.server.abandoned(1);
  });

  test("inside the answer", async () => {
    const sent = new EventEmitter();
    const hang: it.Piece = async ({ hungUp }) => {
      sent.emit("sent");
      await hungUp;
    };
    bench.server.will(it.streams(it.text("Well, "), hang));
    const { outcome, late } = await leaving({}, () => once(sent, "sent"));
    expect(outcome).toBe(reason);
    expect(late).toEqual([]);
    await bench.server.abandoned(1);
  });

  test.each([reason, new DOMException("gone", "AbortError")])(
    "before the end, after the last word: %s",
    async (why) => {
      const controller = new AbortController();
      bench.server.will(it.streams(it.delta({ content: "Yes." }, "stop"), it.hang));
      const asked = bench.ask({ signal: controller.signal, onDelta: () => setImmediate(() => controller.abort(why)) });
      await expect(asked).rejects.toBe(why);
    },
  );

  test("from within, with pieces still to come in the same packet", async () => {
    const controller = new AbortController();
    const heard: string[] = [];
    bench.server.will(it.streams([...it.text("one", "two", "three"), it.finish("stop"), it.done].join("")));
    const asked = bench.ask({
      signal: controller.signal,
      onDelta: ({ text }) => {
        heard.push(text);
        controller.abort(reason);
      },
    });
    await expect(asked).rejects.toBe(reason);
    expect(heard).toEqual(["one"]);
  });

  test("by failing himself: that error is not the model's", async () => {
    bench.server.will(it.streams(it.text("Well, "), it.hang));
    const onDelta = () => {
      throw reason;
    };
    await expect(bench.ask({ onDelta })).rejects.toBe(reason);
    await bench.server.abandoned(1);
  });

  test("after the end: nothing happens, and nothing of it is left on his signal", async () => {
    const controller = new AbortController();
    bench.server.will(it.says("Yes."));
    const added = jest.spyOn(controller.signal, "addEventListener");
    const removed = jest.spyOn(controller.signal, "removeEventListener");
    expect((await bench.ask({ signal: controller.signal })).text).toBe("Yes.");
    expect(removed.mock.calls).toEqual(added.mock.calls);
    controller.abort(reason);
  });
});
