import { describe, expect, test } from "@jest/globals";
import type { ModelDelta } from "../../../commands/ports/model.js";
import * as it from "../../support/model-server.js";
import { modelBench } from "./asking.js";

const bench = modelBench();

describe("tool calls", () => {
  test("come in pieces, in turns", async () => {
    bench.server.will(
      it.streams(
        it.text("One moment."),
        it.toolCall({ index: 1, id: "call_", name: "notes" }),
        it.toolCall({ index: 0, id: "call_a", name: "clock", arguments: "" }),
        it.toolCall({ index: 1, id: "b", name: "_write", arguments: '{"text":' }),
        it.toolCall({ index: 0, arguments: "{}" }),
        it.toolCall({ index: 1, arguments: '"milk"}' }),
        it.finish("tool_calls"),
        it.done,
      ),
    );
    expect(await bench.ask()).toMatchObject({
      text: "One moment.",
      finishReason: "tool_calls",
      toolCalls: [
        { id: "call_a", name: "clock", argumentsJson: "{}" },
        { id: "call_b", name: "notes_write", argumentsJson: '{"text":"milk"}' },
      ],
    });
  });

  test("are heard of while they come, also if they do not come to their end", async () => {
    const pieces = [
      it.toolCall({ index: 0, id: "call_a", name: "notes_write", arguments: '{"text":' }),
      it.delta({ tool_calls: [0, 1].map((index) => ({ index, function: { arguments: '"milk' } })) }),
    ];
    bench.server.will(it.streams(pieces, it.reset));
    const heard: ModelDelta[] = [];
    expect(await bench.refusal({ onDelta: (delta) => heard.push(delta) })).toMatchObject({ trouble: "cut" });
    expect(heard).toEqual([
      { kind: "arguments", text: '{"text":' },
      { kind: "arguments", text: '"milk"milk' },
    ]);
  });

  test("may repeat their id and name with every piece", async () => {
    const piece = (args: string) => it.toolCall({ index: 0, id: "call_1", name: "clock", arguments: args });
    bench.server.will(it.streams(piece("{"), piece("}"), it.finish("tool_calls"), it.done));
    expect((await bench.ask()).toolCalls).toEqual([{ id: "call_1", name: "clock", argumentsJson: "{}" }]);
  });

  test("may come without an index, or without an id", async () => {
    bench.server.will(
      it.streams(
        it.toolCall({ id: "a", name: "one", arguments: "{" }),
        it.toolCall({ arguments: "}" }),
        it.toolCall({ id: "b", name: "two", arguments: "{}" }),
        it.toolCall({ index: 5, name: "three", arguments: "{}" }),
        it.finish("tool_calls"),
        it.done,
      ),
    );
    expect((await bench.ask()).toolCalls).toEqual([
      { id: "a", name: "one", argumentsJson: "{}" },
      { id: "b", name: "two", argumentsJson: "{}" },
      { id: "call_5", name: "three", argumentsJson: "{}" },
    ]);
  });

  test("with the same id are all there, and so is what is no JSON", async () => {
    bench.server.will(
      it.calls({ id: "twin", name: "one", arguments: "{" }, { id: "twin", name: "two", arguments: "not JSON" }),
    );
    expect((await bench.ask()).toolCalls).toEqual([
      { id: "twin", name: "one", argumentsJson: "{" },
      { id: "twin", name: "two", argumentsJson: "not JSON" },
    ]);
  });
});
