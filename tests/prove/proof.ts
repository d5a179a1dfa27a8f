/** What a check found: how many cases it looked at, and in how many the promise was broken. */
export interface Finding {
  readonly n: number;
  readonly violations: number;
  /** The first violation, in words. */
  readonly first?: string;
  /** Other figures worth printing. */
  readonly figures?: Readonly<Record<string, number | string>>;
}

/** A promise, and how it is shown. Run small inside `npm test`, and in full by `npm run prove`. */
export interface Proof {
  readonly name: string;
  readonly promise: string;
  /** How many cases. */
  readonly sizes: { readonly small: number; readonly full: number };
  /** Why this machine cannot run it (a tool is missing), or null. */
  readonly unavailable?: () => string | null;
  /** The same seed runs the same cases. Finds no violation, if the promise holds. */
  readonly run: (n: number, seed: number) => Promise<Finding>;
  /** The same check on a variant that is broken on purpose. If it finds nothing, the check is worth nothing. */
  readonly control: ((n: number, seed: number) => Promise<Finding>) | null;
}
