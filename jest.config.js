export default {
  testMatch: ["<rootDir>/tests/**/*.test.ts"],
  // dist holds compiled copies of every module, and the peers are a package of their own.
  modulePathIgnorePatterns: ["<rootDir>/dist/", "<rootDir>/tests/bench/peers/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: {
    "\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2022" }, module: { type: "es6" }, sourceMaps: "inline" },
    ],
  },
  // We import "./x.js", as Node will; under jest that is the file x.ts. Packages keep their own .js files.
  moduleNameMapper: { "^(\\.{1,2}/.*)\\.js$": ["$1.ts", "$1.js"] },
  testEnvironment: "node",
  setupFiles: ["<rootDir>/tests/support/same-every-time.ts"],
  testTimeout: 30_000,
  maxWorkers: 2,
};
