import { rebuild } from "../../infra/projector/index.js";
import { projections } from "../../projections/index.js";
import { openBackend } from "../support/backend.js";
import { say } from "./say.js";

/** Rebuilds the read models until the first page is written, says so, and waits to be killed. */
const { directory } = JSON.parse(process.argv[2] ?? "") as { directory: string };
const { log, store } = await openBackend(directory);
await rebuild(log, store, projections, {
  onProgress: (position) => {
    say(`${position}`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
});
