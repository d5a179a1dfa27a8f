export { compareWithRebuild, type TableComparison } from "./compare.js";
export { Projector, staleProjections } from "./projector.js";
export { rebuild } from "./rebuild.js";
export { isDamage, ReadModelStore, readModelsFile } from "./store.js";
export { asOf } from "./temporary.js";
