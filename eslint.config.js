import eslint from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const clean = ["domain/**/*.ts", "commands/**/*.ts", "projections/**/*.ts", "read-models/**/*.ts"];
const nondeterministic = "Nondeterminism comes in through a port.";
const noConsole = { name: "console", message: "Log through the logger that you are given." };

const noModuleState = "A projection remembers in its rows only: a rebuild does not know what was in a variable.";
const restrictedSyntax = [
  { selector: "ExportDefaultDeclaration", message: "Export by name, so that a thing has one name everywhere." },
  { selector: "TSEnumDeclaration", message: "Use a union of literals; enums come from the protocol only." },
];

export default defineConfig(
  { ignores: [".cache/", "dist/", "proto/gen/", "tests/bench/peers/"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  eslint.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "no-restricted-syntax": ["error", ...restrictedSyntax],
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      // A switch names every member of its union or says default; it never falls through in silence.
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true, requireDefaultForNonUnion: false },
      ],
      // Numbers and bigints read well in a template; objects and undefined do not, and stay errors.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // "() => socket.destroy()" is how one writes a callback, and "return done()" how one leaves early.
      "@typescript-eslint/no-confusing-void-expression": [
        "error",
        { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true },
      ],
      // "_" names what a signature demands and the body does not need.
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // An implementation of an async port may have nothing to await.
      "@typescript-eslint/require-await": "off",
      // TypeScript's noPropertyAccessFromIndexSignature asks for the brackets that this rule takes away.
      "@typescript-eslint/dot-notation": "off",
      // Type aliases and interfaces both have their place: unions need the one, ports read best as the other.
      "@typescript-eslint/consistent-type-definitions": "off",
    },
  },
  {
    files: clean,
    rules: {
      "no-restricted-globals": [
        "error",
        noConsole,
        ...["Date", "process", "setTimeout", "setInterval", "setImmediate", "fetch", "crypto", "performance"].map(
          (name) => ({ name, message: nondeterministic }),
        ),
        { name: "globalThis", message: "The globals that this floor may use are used by name." },
      ],
      "no-restricted-properties": ["error", { object: "Math", property: "random", message: nondeterministic }],
    },
  },
  {
    files: ["projections/**/*.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        ...restrictedSyntax,
        ...["Program", "ExportNamedDeclaration"].map((parent) => ({
          selector: `${parent} > VariableDeclaration[kind!="const"]`,
          message: noModuleState,
        })),
      ],
    },
  },
  {
    files: ["infra/**/*.ts"],
    ignores: ["infra/cli/**"],
    rules: { "no-restricted-globals": ["error", noConsole] },
  },
  {
    // A query that always answers and a test that knows its data may say so; the inner floors handle what is missing.
    files: ["infra/**/*.ts", "tests/**/*.ts"],
    rules: { "@typescript-eslint/no-non-null-assertion": "off" },
  },
  {
    // Launchers run before anything is installed: plain JavaScript, held to the plain rules.
    files: ["**/*.mjs", "**/*.js", "**/*.cjs"],
    languageOptions: {
      globals: Object.fromEntries(
        ["process", "console", "module", "performance", "Buffer", "URL"].map((name) => [name, "readonly"]),
      ),
    },
  },
);
