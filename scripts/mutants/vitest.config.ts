// The tests that run against mutants: those that run.ts names, without those that start processes.
import { defineConfig } from "vitest/config";

const foldersAndFiles = process.env.ROWLOCK_MUTANTS_TESTS?.split(",") ?? [];

export default defineConfig({
  test: {
    include: foldersAndFiles.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`)),
    exclude: [
      "test/process/**",
      "test/core/mutants.test.ts",
      "test/clients/typescript/{frozen,package,survival,without-sessions}.test.ts",
    ],
    globalSetup: ["test/support/mysql-family/global-setup.ts"],
    // Set it to 1,500 ms for tests without a server: a test that hangs in a mutant then fails, and needs no new
    // process.
    testTimeout: Number(process.env.ROWLOCK_MUTANTS_TEST_MS ?? 30_000),
  },
});
