import type { JsonObject } from "@bufbuild/protobuf";
import { cut } from "./visible.js";

/** Lines that go and lines that come. If only their order changes, that is all of them. */
export function diffOf(before: string, after: string): string {
  if (before === after) return "";
  const gone = without(before.split("\n"), after.split("\n"));
  const come = without(after.split("\n"), before.split("\n"));
  const isOrder = gone.length === 0 && come.length === 0;
  const [minus, plus] = isOrder ? [before.split("\n"), after.split("\n")] : [gone, come];
  return [...minus.map((line) => `- ${line}`), ...plus.map((line) => `+ ${line}`)].join("\n");
}

/** Those lines that the others do not have, or not as often. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** What the owner has changed, for the record: what they were shown before, and what they are shown now. */
export function changesOf(before: JsonObject, now: JsonObject): JsonObject {
  const isRestChanged = before["body_hash"] !== now["body_hash"];
  const diff = diffOf(textOf(before["body"]), textOf(now["body"]));
  const pairs = ["summary", "target", "recipients", "urls", "details"].flatMap((name) => [
    [`${name}_before`, before[name] ?? null],
    [name, now[name] ?? null],
  ]);
  return {
    body: diff === "" && isRestChanged ? "… what is not shown has changed" : cut(diff),
    ...(Object.fromEntries(pairs) as JsonObject),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
