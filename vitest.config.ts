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
    // They end only what hangs. A busy machine must not reach them: it takes ten times as long as a quick one, and more.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
});
