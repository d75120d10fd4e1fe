// How the tests run: one set-up for all of them finds the databases, a closing line says how it went.
import { globSync, readFileSync } from "node:fs";
import { defineConfig } from "vitest/config";

// Starting a process and loading the modules takes longer than most files, so files share processes and modules. A file
// that replaces modules, imports the tests of others, or counts objects has a process of its own. A real timer that a file
// has left behind must not run on fake ones: files with fake timers share theirs only with each other.
const kindOf = (path: string) => {
  const isLong = path.endsWith(".long.test.ts");
  if (path.startsWith("test/attacks/")) return isLong ? "long attacks" : "attacks";
  if (isLong) return "long";
  if (path.endsWith(".slow.test.ts")) return "slow";
  const text = readFileSync(path, "utf8");
  if (/\bvi\.(mock|doMock)\(|\bawait import\(|\bqueryObjects\(/.test(text)) return "own modules";
  return text.includes("useFakeTimers") ? "fake timers" : "real timers";
};
const ISOLATED = ["slow", "long", "own modules", "attacks", "long attacks"];
/** These compare times, so they run one by one, after all others. */
const ALONE = { sequence: { groupOrder: 1 }, maxWorkers: 1 };
const kinds = Object.groupBy(globSync("{bench,proof,test}/**/*.test.ts"), kindOf);

export default defineConfig({
  test: {
    projects: Object.entries(kinds).map(([name, include]) => ({
      extends: true,
      test: { name, include, isolate: ISOLATED.includes(name), ...(name.endsWith("attacks") ? ALONE : {}) },
    })),
    globalSetup: ["test/support/mysql-family/global-setup.ts"],
    reporters: ["default", "./test/support/closing-line-reporter.ts"],
    // More than there may be cores: most tests wait for a server most of their time. `npm run test:fast` has more, as it
    // starts no database server.
    maxWorkers: 3,
    // A test without an assertion passes whatever happens. What a test waits for may take long on a busy machine.
    expect: { requireAssertions: true, poll: { timeout: 60_000, interval: 20 } },
    // A test left focused would hide the others, and one that passes only when repeated has found something.
    allowOnly: false,
    retry: 0,
    // They end only what hangs. A busy machine must not reach them: it takes ten times as long as a quick one, and more.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
});
