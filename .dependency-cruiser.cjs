// The import table of docs/architecture.md. What a floor may import is listed; all else is forbidden, Node's own
// modules included.

/** A floor whose files may import these paths and nothing else. */
const only = (from, ...allowed) => ({
  name: `${from.split("/")[0]}-imports`,
  severity: "error",
  from: { path: `^${from}/` },
  to: { pathNot: allowed },
});

/** A package that only these places may import. */
const ownedBy = (name, packagePath, ...places) => ({
  name,
  severity: "error",
  from: { pathNot: [...places, "^tests/"] },
  to: { path: `(^|/)node_modules/${packagePath}/` },
});

module.exports = {
  forbidden: [
    only("proto/gen", "^proto/gen/", "node_modules/@bufbuild/protobuf/"),
    only(
      "domain/([^/]+)",
      "^proto/gen/",
      "^domain/shared/",
      "^domain/$1/",
      "^domain/[^/]+/index\\.ts$",
      "node_modules/zod/",
      "node_modules/@bufbuild/protobuf/",
    ),
    {
      name: "domain-knows-only-types-of-protobuf",
      severity: "error",
      from: { path: "^domain/" },
      to: { path: "node_modules/@bufbuild/protobuf/", dependencyTypesNot: ["type-only"] },
    },
    only("commands", "^proto/gen/", "^domain/", "^commands/"),
    only("projections", "^proto/gen/", "^domain/", "^projections/", "^read-models/"),
    only("read-models", "^read-models/", "node_modules/kysely/"),
    ownedBy("sqlite-stays-in-its-rooms", "(@types/)?better-sqlite3", "^infra/event-log/", "^infra/projector/"),
    ownedBy("connect-stays-at-the-edge", "@connectrpc", "^infra/rpc/", "^infra/cli/"),
    ownedBy("openai-stays-in-its-room", "openai", "^infra/model/"),
    { name: "nothing-imports-tests", severity: "error", from: { pathNot: "^tests/" }, to: { path: "^tests/" } },
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    // An import of a type is an import: the table is about who knows whom.
    tsPreCompilationDeps: true,
    exclude: "^(dist|tests/bench/peers)/",
    doNotFollow: "node_modules",
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  },
};
