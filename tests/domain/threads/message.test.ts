import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  commitMessage,
  evolveThread,
  initialThread,
  messageTextBytesMax,
  type MessageDraft,
} from "../../../domain/threads/index.js";
import { MessageRole } from "../../../proto/gen/pincer/protocol/v1/thread_events_pb.js";
import { asRead, threadCreated, threadDeleted } from "../../support/facts.js";
import { given } from "../../support/given.js";

const thread = { initial: initialThread, evolve: evolveThread };
const textBytesMax = 64 * 1024;

function draft(text: string): MessageDraft {
  return { messageId: "message-1", role: MessageRole.USER, text, clientMessageId: "client-1" };
}

function committed(text: string) {
  return { case: "messageCommitted", value: draft(text) } as const;
}

describe("a message", () => {
  test("is committed to an open thread", () => {
    given(thread, threadCreated).when(commitMessage, draft("hello")).thenRecords(committed("hello"));
  });

  test("needs a thread", () => {
    given(thread).when(commitMessage, draft("hello")).thenRefuses("thread_not_found");
  });

  test("is not committed to a deleted thread", () => {
    given(thread, threadCreated, threadDeleted).when(commitMessage, draft("hello")).thenRefuses("thread_deleted");
  });

  test.each(["", " ", " \n ", "\t\r\n", "\u00a0\u2028\ufeff"])("says something: %j is nothing", (text) => {
    given(thread, threadCreated).when(commitMessage, draft(text)).thenRefuses("text_empty");
  });

  test("keeps the white space around what it says", () => {
    given(thread, threadCreated).when(commitMessage, draft(" tea \n")).thenRecords(committed(" tea \n"));
  });

  test.each([
    ["a lone high surrogate", "a\ud83d"],
    ["a lone low surrogate", "\ude00b"],
    ["surrogates in the wrong order", "\ude00\ud83d"],
  ])("with %s is not Unicode, and would not come back from the log as it went in", (_what, text) => {
    given(thread, threadCreated).when(commitMessage, draft(text)).thenRefuses("text_malformed");
  });

  test.each([
    ["one byte", "a"],
    ["two bytes", "é"],
    ["three bytes", "水"],
    ["four bytes", "🦀"],
  ])("may take exactly 64 KiB in characters of %s, and not one byte more", (_what, character) => {
    const characterBytes = Buffer.byteLength(character);
    const full = character.repeat(Math.floor(textBytesMax / characterBytes));
    const text = full + "a".repeat(textBytesMax - Buffer.byteLength(full));
    given(thread, threadCreated).when(commitMessage, draft(text)).thenRecords(committed(text));
    given(thread, threadCreated)
      .when(commitMessage, draft(`${text}a`))
      .thenRefuses("text_too_long", { textBytes: textBytesMax + 1, textBytesMax: messageTextBytesMax });
  });

  test("of any well-formed text comes back from the log as it went in", () => {
    const texts = fc.string({ unit: "binary", minLength: 1, maxLength: 200 }).filter((text) => text.trim() !== "");
    fc.assert(
      fc.property(texts, (text) => {
        given(thread, threadCreated).when(commitMessage, draft(text)).thenRecords(committed(text));
        expect(asRead(committed(text)).value).toMatchObject({ text });
      }),
    );
  });
});
