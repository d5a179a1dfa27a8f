import type { EventType, PayloadOf } from "../../domain/shared/index.js";

/** Where events of one type were erased. Some types never are, whatever the range, and so are not touched by it. */
export function erasedRanges(
  erasure: PayloadOf<"eventsErased"> | null,
  type: EventType,
): readonly { readonly first: number; readonly last: number }[] {
  const ranges = erasure?.ranges ?? [];
  return ranges
    .filter(({ counts }) => counts.some((count) => count.type === type))
    .map(({ first, last }) => ({ first: Number(first), last: Number(last) }));
}
