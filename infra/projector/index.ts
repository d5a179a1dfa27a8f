export { isDamage } from "./bookkeeping.js";
export { compareWithRebuild, type TableComparison } from "./compare.js";
export { Projector } from "./projector.js";
export { rebuild } from "./rebuild.js";
export { staleProjections } from "./stale.js";
export { ReadModelStore, readModelsFile } from "./store.js";
export { asOf } from "./temporary.js";
export { ReadModelView } from "./view.js";
