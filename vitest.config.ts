// How the tests run: one set-up for all of them finds the databases, a closing line says how it went.
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/mysql-family/global-setup.ts"],
    reporters: ["default", "./test/support/closing-line-reporter.ts"],
    // More than there may be cores: most tests wait for a server most of their time.
    maxWorkers: 3,
    // A test left focused would hide the others, and one that passes only when repeated has found something.
    allowOnly: false,
    retry: 0,
    // Generous, because the databases share the machine; a test waits for signals and never needs these.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
  },
});
