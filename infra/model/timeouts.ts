/** How long a model may take. Each limit is a failure of its own name. */
export interface ModelTimeouts {
  /** Until there is a connection: name, TCP and TLS. One that is still open from before counts as there. */
  readonly connectMillisMax: number;
  /** From then until the head of the response. Some servers load a model first. */
  readonly firstByteMillisMax: number;
  /** Without a byte of the answer. A comment that only keeps the line open is a byte. */
  readonly idleMillisMax: number;
  /** For all of it. */
  readonly totalMillisMax: number;
}

export const defaultModelTimeouts: ModelTimeouts = {
  connectMillisMax: 10_000,
  firstByteMillisMax: 45_000,
  idleMillisMax: 30_000,
  totalMillisMax: 60_000,
};

/** What is waited for. */
export type Awaited = "connect" | "firstByte" | "idle" | "total";
