import { logConcurrent } from "./concurrent.js";
import { filesPrivate } from "./files.js";
import { logFsync } from "./fsync.js";
import { logFull } from "./full.js";
import { logKill } from "./kill.js";
import { logPower } from "./power.js";
import type { Proof } from "./proof.js";
import { walBounded } from "./wal.js";

/** Every promise that is kept so far. */
export const proofs: readonly Proof[] = [logKill, logPower, logFull, logFsync, logConcurrent, walBounded, filesPrivate];
