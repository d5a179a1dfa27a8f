/** What a check found: how many cases it looked at, and in how many the promise was broken. */
export interface Finding {
  readonly n: number;
  readonly violations: number;
  /** The first violation, in words. */
  readonly first?: string;
  /** Other figures worth printing. */
  readonly figures?: Readonly<Record<string, number | string>>;
}

/** Called with the number of cases done so far; for those who wait. */
export type OnProgress = (done: number) => void;

/** The same seed runs the same cases. */
export type Check = (n: number, seed: number, onProgress?: OnProgress) => Promise<Finding>;

/** A promise, and how it is shown. Run small inside `npm test`, and in full by `npm run prove`. */
export interface Proof {
  readonly name: string;
  readonly promise: string;
  /** How many cases. */
  readonly sizes: { readonly small: number; readonly full: number };
  /** Why this machine cannot run it (a tool is missing), or null. */
  readonly unavailable?: () => string | null;
  /** Finds no violation, if the promise holds. */
  readonly run: Check;
  /** The same check on a variant that is broken on purpose. If it finds nothing, the check is worth nothing. */
  readonly control: Check | null;
}
