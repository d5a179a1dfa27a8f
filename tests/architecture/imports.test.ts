import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

// That our own imports keep the rules is checked before the tests; here we see that each rule can fail.
const empty = "export {};";
const house: Record<string, string> = {
  "tsconfig.json": `{ "compilerOptions": { "module": "nodenext" } }`,
  "package.json": `{ "type": "module" }`,
  "node_modules/better-sqlite3/index.js": empty,
  "node_modules/@connectrpc/connect/index.js": empty,
  "node_modules/@bufbuild/protobuf/index.js": empty,
  "node_modules/kysely/index.js": empty,
  "node_modules/openai/index.js": empty,
  "node_modules/zod/index.js": empty,
  "proto/gen/events_pb.ts": `import "@bufbuild/protobuf";`,
  "proto/gen/curious_pb.ts": `import "zod";`,
  "domain/shared/instant.ts": empty,
  "domain/jobs/index.ts": `import "./job.js";`,
  "domain/jobs/job.ts": empty,
  "domain/threads/good.ts": `import "../../proto/gen/events_pb.js"; import "../shared/instant.js"; import "zod";
    import "../jobs/index.js"; import type { Message } from "@bufbuild/protobuf"; export type M = Message;`,
  "domain/threads/past-the-door.ts": `import "../jobs/job.js";`,
  "domain/threads/reads-files.ts": `import "node:fs";`,
  "domain/threads/encodes.ts": `import { toBinary } from "@bufbuild/protobuf"; toBinary;`,
  "domain/threads/knows-storage.ts": `import type { Log } from "../../infra/event-log/log.js"; export type L = Log;`,
  "commands/threads/good.ts": `import "../../domain/threads/good.js";`,
  "commands/threads/reads-tables.ts": `import "../../read-models/threads/good.js";`,
  "read-models/threads/good.ts": `import "kysely";`,
  "read-models/threads/decides.ts": `import "../../domain/threads/good.js";`,
  "projections/threads/good.ts": `import "../../domain/threads/good.js"; import "../../read-models/threads/good.js";`,
  "projections/threads/commands.ts": `import "../../commands/threads/good.js";`,
  "infra/event-log/log.ts": `import "better-sqlite3"; export type Log = string;`,
  "infra/workers/queries.ts": `import "better-sqlite3";`,
  "infra/rpc/good.ts": `import "@connectrpc/connect";`,
  "infra/workers/serves.ts": `import "@connectrpc/connect";`,
  "infra/model/good.ts": `import "openai";`,
  "infra/workers/asks.ts": `import "openai";`,
  "infra/workers/tested.ts": `import "../../tests/support/good.js";`,
  "infra/workers/hen.ts": `import "./egg.js";`,
  "infra/workers/egg.ts": `import "./hen.js";`,
  "tests/support/good.ts": `import "better-sqlite3"; import "@connectrpc/connect"; import "../../infra/rpc/good.js";`,
};

const folder = mkdtempSync(join(tmpdir(), "pincer-imports-"));
let violations: string[];

beforeAll(() => {
  for (const [path, text] of Object.entries(house)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const { stdout, stderr } = spawnSync(
    resolve("node_modules/.bin/depcruise"),
    ["--config", resolve(".dependency-cruiser.cjs"), "--output-type=json", "."],
    { cwd: folder, encoding: "utf8" },
  );
  expect(stderr).toBe("");
  const report = JSON.parse(stdout) as { summary: { violations: { from: string; rule: { name: string } }[] } };
  violations = report.summary.violations.map(({ from, rule }) => `${from}: ${rule.name}`).sort();
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

test("every import that the table forbids is reported, and no other", () => {
  expect(violations).toEqual([
    "commands/threads/reads-tables.ts: commands-imports",
    "domain/threads/encodes.ts: domain-knows-only-types-of-protobuf",
    "domain/threads/knows-storage.ts: domain-imports",
    "domain/threads/past-the-door.ts: domain-imports",
    "domain/threads/reads-files.ts: domain-imports",
    "infra/workers/asks.ts: openai-stays-in-its-room",
    "infra/workers/egg.ts: no-cycles",
    "infra/workers/queries.ts: sqlite-stays-in-its-rooms",
    "infra/workers/serves.ts: connect-stays-at-the-edge",
    "infra/workers/tested.ts: nothing-imports-tests",
    "projections/threads/commands.ts: projections-imports",
    "proto/gen/curious_pb.ts: proto-imports",
    "read-models/threads/decides.ts: read-models-imports",
  ]);
});
