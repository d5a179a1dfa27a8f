import type { OwnerWords, UntrustedSource } from "../../domain/approvals/index.js";

/** Where an action belongs. */
export interface ActionPlace {
  readonly threadId: string;
  /** null if it belongs to no turn. */
  readonly turnId: string | null;
  readonly tool: string;
  readonly idempotencyKey: string;
  /** The action that has used that key first; null if none has. */
  readonly keyUsedBy: string | null;
}

/** Questions to the read models that commands ask before they decide. They see everything that was recorded before. */
export interface Lookups {
  action(actionId: string): Promise<ActionPlace | null>;
  /** What a thread has read that others wrote, and what the owner has said in it. */
  surroundings(threadId: string): Promise<{
    readonly untrusted: readonly UntrustedSource[];
    readonly ownerWords: readonly OwnerWords[];
    /** It has read more than that. */
    readonly isCutOff: boolean;
  }>;
}
