/** Whose stream it is: "4711" of "action-4711". null if it is one of another kind. Erasure leaves it as it is. */
export function idIn(stream: string, kind: "action" | "notification"): string | null {
  const prefix = `${kind}-`;
  return stream.startsWith(prefix) ? stream.slice(prefix.length) : null;
}
