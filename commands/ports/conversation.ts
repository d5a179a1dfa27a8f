import type { Instant } from "../../domain/shared/index.js";

/** Something that was said. */
export interface Utterance {
  readonly role: "user" | "assistant" | "system";
  readonly text: string;
}

export interface Said extends Utterance {
  readonly turnId: string;
}

/** What was said before, in short. */
export interface Summary {
  readonly summaryId: string;
  readonly text: string;
  /** Of the log: turns that ended later are not in it. */
  readonly throughPosition: number;
}

/** What a model is shown of a conversation besides the turn it is in. */
export interface Conversation {
  /** The owner's own words to the assistant; empty if there are none. */
  readonly memory: string;
  readonly summary: Summary | null;
  /** The last turns, oldest first. */
  readonly talk: readonly Utterance[];
}

export interface EndedTurn {
  readonly turnId: string;
  readonly endedPosition: number;
}

/** Questions to the read models about what was said. They see everything that was recorded before they are asked. */
export interface Conversations {
  /** What a turn is about: the message that it answers, and what was said in the turns before it. */
  before(
    threadId: string,
    turnId: string,
    turnsMax: number,
  ): Promise<{
    readonly conversation: Conversation;
    readonly userText: string;
  }>;
  latestSummary(threadId: string): Promise<Summary | null>;
  /** The turns of a thread that ended after a position, oldest first, as far as it is known what was asked in them. */
  endedSince(threadId: string, position: number, turnsMax: number): Promise<readonly EndedTurn[]>;
  /** All that was said in these turns, in order. */
  said(threadId: string, turnIds: readonly string[]): Promise<readonly Said[]>;
}

/** What the log says about tokens. */
export interface TokenUsage {
  /** Tokens of calls that began in the window: what they have cost, or what is reserved for them. */
  spent(from: Instant, until: Instant): Promise<number>;
}
