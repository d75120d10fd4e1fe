// The tests that run against mutants: those that run.ts names, without the slow ones.
import { defineConfig } from "vitest/config";

const foldersAndFiles = process.env.ROWLOCK_MUTANTS_TESTS?.split(",") ?? [];

export default defineConfig({
  test: {
    include: foldersAndFiles.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`)),
    exclude: ["**/*.slow.test.ts", "**/*.long.test.ts"],
    globalSetup: ["test/support/mysql-family/global-setup.ts"],
    // Set it to 1,500 ms for tests without a server: a test that hangs in a mutant then fails, and needs no new
    // process.
    testTimeout: Number(process.env.ROWLOCK_MUTANTS_TEST_MS ?? 30_000),
  },
});
