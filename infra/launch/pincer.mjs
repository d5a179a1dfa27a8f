#!/usr/bin/env node
import { ensureBuilt } from "./prepare.mjs";

await ensureBuilt();
// In this process, so that signals, standard streams and the exit code are the command's own.
await import("../../dist/infra/cli/main.js");
