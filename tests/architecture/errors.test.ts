import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { refusals } from "../../domain/shared/index.js";

test("docs/errors.md lists every refusal with its meaning, and no other", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const section = page.split("## Refusals")[1]?.split("\n## ")[0] ?? "";
  const listed = [...section.matchAll(/^\| `(\w+)` *\| (.*?) *\|$/gm)].map(([, code, meaning]) => [code, meaning]);
  expect(Object.fromEntries(listed)).toEqual(refusals);
});
