import { expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";

// That our own files keep the rules is checked before the tests; here we see that a rule can fail.
test("a projection may not remember anything outside of its rows", () => {
  const text =
    "let a = 0;\nexport let b = 0;\nexport const f = (): number => { let c = 0; c++; return a++ + b++ + c; };\n";
  const { stdout } = spawnSync(
    resolve("node_modules/.bin/eslint"),
    ["--stdin", "--stdin-filename=projections/index.ts", "--format=json"],
    { input: text, encoding: "utf8" },
  );
  const [report] = JSON.parse(stdout) as [{ messages: { ruleId: string; line: number }[] }];
  expect(report.messages.map(({ ruleId, line }) => `${ruleId} in line ${line}`)).toEqual([
    "no-restricted-syntax in line 1",
    "no-restricted-syntax in line 2",
  ]);
});
