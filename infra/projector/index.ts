export { compareWithRebuild, type TableComparison } from "./compare.js";
export { Projector, staleProjections } from "./projector.js";
export { rebuild, type RebuildOptions } from "./rebuild.js";
export { isDamage, ReadModelStore, readModelsFile, type Checkpoint } from "./store.js";
export { asOf } from "./temporary.js";
