import { afterAll, expect, test } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "pincer-generated-"));

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("proto/gen is what the .proto files generate: if not, npm run generate", () => {
  buf("generate", "--output", folder);
  const [kept, fresh] = [contentsOf("proto/gen"), contentsOf(join(folder, "gen"))];
  const names = new Set([...kept.keys(), ...fresh.keys()]);
  expect([...names].filter((name) => kept.get(name) !== fresh.get(name))).toEqual([]);
});

test("proto/baseline.binpb is the image of the .proto files: if not, npm run generate", () => {
  buf("build", "--exclude-source-info", "--output", join(folder, "image.binpb"));
  expect(readFileSync("proto/baseline.binpb").equals(readFileSync(join(folder, "image.binpb")))).toBe(true);
});

function buf(...args: string[]): void {
  const tools = resolve("node_modules/.bin");
  const env = { ...process.env, PATH: `${tools}${delimiter}${process.env["PATH"] ?? ""}` }; // For protoc-gen-es.
  execFileSync(join(tools, "buf"), args, { cwd: resolve("proto"), env });
}

function contentsOf(directory: string): Map<string, string> {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  return new Map(files.map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}
