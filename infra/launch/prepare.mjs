import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { root, run } from "./child.mjs";
import { withLock } from "./lock.mjs";

const sources = ["proto/gen", "domain", "commands", "projections", "read-models", "infra", "tests"];
const foreign = new Set(["node_modules", "peers"]);

// Native modules are compiled for one Node ABI, so another Node needs another installation.
const runtime = `${process.platform} ${process.arch} ${process.versions.modules}`;

// Standard output belongs to the command that was asked for.
const chatter = { stdio: ["ignore", 2, 2] };

const installation = {
  doing: "installing dependencies, which compiles SQLite and takes a minute or two",
  stamp: "node_modules/.pincer-install",
  fingerprint: () => `${runtime}\n${describe("package-lock.json")}`,
  // Production settings must not leave out the compiler.
  make: () => run("npm", ["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"], chatter),
  isMadeByHand: isInstalledByHand,
};

const build = {
  doing: "building",
  stamp: "dist/.pincer-build",
  fingerprint: () => ["package-lock.json", "tsconfig.json", ...sources.flatMap(listSources)].map(describe).join("\n"),
  make: () => run("tsc", [], chatter),
  isMadeByHand: () => false,
};

/** Installs the dependencies when those in node_modules are not the lockfile's. */
export const ensureInstalled = () => ensure([installation]);

/** Installs, and compiles into dist, what is not fresh. When all is fresh this only looks. */
export const ensureBuilt = () => ensure([installation, build]);

async function ensure(steps) {
  if (steps.every(isFresh)) return;
  const succeeded = await withLock(join(root, ".cache", "launch.lock"), async () => {
    for (const step of steps) if (!isFresh(step) && !(await refresh(step))) return false;
    return true;
  });
  if (!succeeded) process.exit(1); // The tool has said why.
}

async function refresh(step) {
  // Taken before the work, so that what changes during it makes the result stale.
  const fingerprint = step.fingerprint();
  if (!step.isMadeByHand()) {
    process.stderr.write(`pincer: ${step.doing}\n`);
    if ((await step.make()) !== 0) return false;
  }
  writeFileSync(join(root, step.stamp), fingerprint);
  return true;
}

function isFresh(step) {
  return read(step.stamp) === step.fingerprint();
}

/** True when somebody ran npm here and it left what the lockfile asks for, compiled for this Node. */
function isInstalledByHand() {
  const present = JSON.parse(read("node_modules/.package-lock.json") || "{}").packages ?? {};
  const wanted = JSON.parse(read("package-lock.json")).packages;
  const isComplete = Object.entries(wanted).every(
    ([path, { version, optional }]) => path === "" || (present[path] ? present[path].version === version : optional),
  );
  return isComplete && sqliteLoads();
}

function sqliteLoads() {
  try {
    const Database = createRequire(join(root, "package.json"))("better-sqlite3");
    new Database(":memory:").close();
    return true;
  } catch {
    return false;
  }
}

function listSources(directory) {
  return readdirSync(join(root, directory), { withFileTypes: true }).flatMap((entry) => {
    const name = `${directory}/${entry.name}`;
    if (entry.isDirectory()) return foreign.has(entry.name) ? [] : listSources(name);
    return name.endsWith(".ts") ? [name] : [];
  });
}

function describe(name) {
  const { mtimeMs, size } = statSync(join(root, name));
  return `${name} ${mtimeMs} ${size}`;
}

function read(name) {
  const path = join(root, name);
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
