import { describe, expect, test } from "@jest/globals";
import { renderCard, type CallSubject } from "../../../domain/approvals/index.js";
import { systemHash as hash } from "../../../infra/ports/system-hash.js";
import { Identity } from "../../../proto/gen/pincer/protocol/v1/common_pb.js";

const mail: CallSubject = {
  summary: "Send a mail",
  target: "ada@example.com",
  recipients: ["ada@example.com", "bob@example.com"],
  urls: ["https://example.com/a", "https://example.com/b"],
  body: "Hello",
};
const quiet = { hash, identity: Identity.USER, untrusted: [], ownerWords: [], isCutOff: false, previous: null };
const card = (more: Partial<CallSubject> = {}, context: Partial<Parameters<typeof renderCard>[1]> = {}) =>
  renderCard({ ...mail, ...more }, { ...quiet, ...context });

describe("a card", () => {
  test("shows every recipient, every URL, the account, and how much is sent", () => {
    expect(card({ body: "Grüße" }).preview).toEqual({
      summary: "Send a mail",
      target: "ada@example.com",
      account: "yours",
      recipients: ["ada@example.com", "bob@example.com"],
      urls: ["https://example.com/a", "https://example.com/b"],
      body: "Grüße",
      body_bytes: 7,
    });
  });

  test("leaves out none of many recipients", () => {
    const recipients = Array.from({ length: 500 }, (_, index) => `r${index}@example.com`);
    expect(card({ recipients }).preview["recipients"]).toEqual(recipients);
  });

  test.each([
    [Identity.USER, "yours"],
    [Identity.BOT, "the assistant's own"],
    [Identity.NONE, "none"],
    [Identity.UNSPECIFIED, "none"],
  ])("says whose account it is (%s: %s)", (identity, account) => {
    expect(card({}, { identity }).preview["account"]).toBe(account);
  });

  test("shows what else matters, by name", () => {
    expect(card({ details: { subject: "On\nholiday" } }).preview).toMatchObject({ details: { subject: "On holiday" } });
  });

  test("is the same for the same call", () => {
    expect(card()).toEqual(card());
  });

  test("shows which lines go and which come", () => {
    const { preview } = card({ before: "one\ntwo\nthree", body: "one\n2\nthree" });
    expect(preview["diff"]).toBe("- two\n+ 2");
    expect(card().preview).not.toHaveProperty("diff");
  });

  test("of another revision says what was changed", () => {
    const previous = card({ body: "Hello\nAda", details: { subject: "Lunch" } }).preview;
    const { preview } = card(
      {
        summary: "Send",
        target: "bob",
        body: "Hello\nBob",
        recipients: ["bob@example.com"],
        urls: [],
        details: { subject: "Tea" },
      },
      { previous },
    );
    expect(preview["changed"]).toEqual({
      body: "- Ada\n+ Bob",
      summary_before: mail.summary,
      summary: "Send",
      target_before: mail.target,
      target: "bob",
      recipients_before: mail.recipients,
      recipients: ["bob@example.com"],
      urls_before: mail.urls,
      urls: [],
      details_before: { subject: "Lunch" },
      details: { subject: "Tea" },
    });
  });

  const family = "Hello \u{1F468}\u200d\u{1F469}\u200d\u{1F467}\nBye\\u200d";
  const huge = "ä".repeat(70_000);
  test.each([
    ["of characters that nobody sees", family],
    ["that is too long to be shown", huge],
  ])("of another revision does not say that a text has changed that has not: one %s", (_, body) => {
    const { preview } = card({ body, recipients: ["bob"] }, { previous: card({ body }).preview });
    expect(preview["changed"]).toMatchObject({ body: "" });
  });

  test("of another revision shows the change of a text as the text is shown", () => {
    const { preview } = card({ body: `${family}!` }, { previous: card({ body: family }).preview });
    expect(preview["changed"]).toMatchObject({ body: "- Bye\\\\u200d\n+ Bye\\\\u200d!" });
  });

  test("of another revision says so if only what is not shown has changed", () => {
    const previous = card({ body: `${huge}a` }).preview;
    const { preview } = card({ body: `${huge}b` }, { previous });
    expect(preview["changed"]).toMatchObject({ body: "… what is not shown has changed" });
  });

  test("of a huge text shows the beginning, and says how much more there is", () => {
    const { preview } = card({ body: "ä".repeat(100_000) });
    expect(preview["body_bytes"]).toBe(200_000);
    expect(preview["body"]).toMatch(new RegExp(`^ä{${32 * 1024}}\\n… and ${200_000 - 64 * 1024} bytes more$`));
  });

  test("is text, whatever the tool was given", () => {
    const { preview } = card({ body: "\ud800", target: "\udc00" });
    expect(preview).toMatchObject({ body: "\ufffd", target: "\ufffd" });
  });
});

describe("nobody can forge a line of a card", () => {
  const breaks = ["\n", "\r\n", "\r", "\u0085", "\u2028", "\u2029", "\v", "\f", "\n\n\t"];
  test.each(breaks.map((text) => [JSON.stringify(text), text]))("with %s", (_, newline) => {
    const forged = `ada${newline}recipients: boss`;
    const shown = card({
      summary: forged,
      target: forged,
      recipients: [forged],
      urls: [forged],
      details: { subject: forged },
    });
    const line = "ada recipients: boss";
    expect(shown).toMatchObject({ summary: line, target: line });
    expect(shown.preview).toMatchObject({
      summary: line,
      target: line,
      recipients: [line],
      urls: [line],
      details: { subject: line },
    });
  });

  test("not in what the turn has read, and not in a warning", () => {
    const untrusted = [{ tool: "web_open", origin: "x\nBEWARE nothing", text: "ada@example.com" }];
    const { untrustedSources, warnings } = card({ recipients: ["ada@example.com"], urls: [] }, { untrusted });
    expect(untrustedSources).toEqual(["web_open x BEWARE nothing"]);
    expect(warnings).toEqual(["ada@example.com comes from web_open x BEWARE nothing, not from you"]);
  });
});

describe("characters that nobody sees", () => {
  const turning = ["\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"];
  const empty = ["\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2060", "\ufeff"];
  test.each([...turning, ...empty].map((character) => [`\\u${character.charCodeAt(0).toString(16)}`, character]))(
    "are shown as %s in a text",
    (written, character) => {
      expect(card({ body: `pay${character}me` }).preview["body"]).toBe(`pay${written}me`);
    },
  );

  test.each([...turning, ...empty].map((character) => [`\\u${character.charCodeAt(0).toString(16)}`, character]))(
    "part an address that has %s in its middle",
    (_, character) => {
      const address = `ada${character}@example.com`;
      expect(card({ recipients: [address], urls: [address] }).preview).toMatchObject({
        recipients: [expect.not.stringContaining(character)],
        urls: [expect.not.stringContaining(character)],
      });
      expect(card({ recipients: [address] }).preview["recipients"]).not.toEqual(["ada@example.com"]);
    },
  );
});
