import { codeToString } from "@connectrpc/connect/protocol-connect";
import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { refusals, type RefusalCode } from "../../domain/shared/index.js";
import { codes } from "../../infra/rpc/refusal.js";

test("docs/errors.md lists every refusal with its code on the wire and its meaning, and no other", () => {
  const page = readFileSync(new URL("../../docs/errors.md", import.meta.url), "utf8");
  const section = page.split("## Refusals")[1]?.split("\n## ")[0] ?? "";
  const listed = [...section.matchAll(/^\| `(\w+)` *\| `(\w+)` *\| ([A-Z].*?) *\|$/gm)];
  expect(listed.map(([, code, wire, meaning]) => [code, wire, meaning])).toEqual(
    Object.entries(refusals).map(([code, meaning]) => [code, codeToString(codes[code as RefusalCode]), meaning]),
  );
});
