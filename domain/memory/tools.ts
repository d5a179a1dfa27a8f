import { z } from "zod";
import { RiskClass } from "../../proto/gen/pincer/protocol/v1/common_pb.js";
import { tool } from "../approvals/index.js";

const titleLengthMax = 200;
const noteLengthMax = 16_000;
const artifactLengthMax = 200_000;

const title = z.string().trim().min(1).max(titleLengthMax);

/** Writes down something for later. The note is named after the call, so a call is one note, however often it is made. */
export const notesWrite = tool({
  name: "notes_write",
  version: 1,
  description: "Write a note for the owner, to be kept. It is not sent to anybody.",
  args: z.strictObject({
    title: title.describe("A short title."),
    text: z.string().min(1).max(noteLengthMax).describe("The note."),
  }),
  risk: RiskClass.WRITE,
  identity: "none",
  kind: "internal",
  destination: "internal",
  record: (note, { executionId }) => ({
    facts: [{ case: "noteWritten", value: { noteId: executionId, title: note.title, text: note.text } }],
    text: `The note "${note.title}" is written.`,
  }),
});

/** Keeps a document that was made in a thread. */
export const artifactPut = tool({
  name: "artifact_put",
  version: 1,
  description:
    "Keep a document that you have made for the owner, such as a plan, a table or a draft. It is not sent to anybody.",
  args: z.strictObject({
    title: title.describe("What the document is called."),
    content: z.string().min(1).max(artifactLengthMax).describe("The whole document."),
    media_type: z
      .enum(["text/plain", "text/markdown", "text/csv", "application/json"])
      .default("text/markdown")
      .describe("What kind of document it is."),
  }),
  risk: RiskClass.WRITE,
  identity: "none",
  kind: "internal",
  destination: "internal",
  record: (document, { executionId, threadId }) => ({
    facts: [
      {
        case: "artifactCreated",
        value: {
          artifactId: executionId,
          threadId,
          mediaType: document.media_type,
          title: document.title,
          content: new TextEncoder().encode(document.content),
        },
      },
    ],
    text: `The document "${document.title}" is kept.`,
  }),
});
