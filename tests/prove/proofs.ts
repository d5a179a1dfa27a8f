import { approvalBound } from "./approval-bound.js";
import { authAll } from "./auth-all.js";
import { authGuess } from "./auth-guess.js";
import { budgetHeld } from "./budget-held.js";
import { logConcurrent } from "./concurrent.js";
import { effectApproved } from "./effect-approved.js";
import { effectOnce } from "./effect-once.js";
import { filesPrivate } from "./files.js";
import { forgetBytes } from "./forget-bytes.js";
import { logFsync } from "./fsync.js";
import { logFull } from "./full.js";
import { logKill } from "./kill.js";
import { policyClosed } from "./policy-closed.js";
import { policyMutants } from "./policy-mutants.js";
import { logPower } from "./power.js";
import { projectionEqual } from "./projection-equal.js";
import { projectionServing } from "./projection-serving.js";
import type { Proof } from "./proof.js";
import { logRollback } from "./rollback.js";
import { streamGapless } from "./stream-gapless.js";
import { streamRevoke } from "./stream-revoke.js";
import { streamSlow } from "./stream-slow.js";
import { rpcHostile } from "./rpc-hostile.js";
import { stopGraceful } from "./stop-graceful.js";
import { logTamper } from "./tamper.js";
import { turnKill } from "./turn-kill.js";
import { walBounded } from "./wal.js";

/** Every promise that is kept so far. */
export const proofs: readonly Proof[] = [
  logKill,
  logPower,
  logFull,
  logFsync,
  logTamper,
  logRollback,
  logConcurrent,
  projectionEqual,
  projectionServing,
  forgetBytes,
  filesPrivate,
  walBounded,
  streamGapless,
  streamRevoke,
  streamSlow,
  authAll,
  authGuess,
  rpcHostile,
  stopGraceful,
  turnKill,
  budgetHeld,
  effectApproved,
  effectOnce,
  approvalBound,
  policyClosed,
  policyMutants,
];
