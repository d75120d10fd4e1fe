// Ends a run with one plain line, "N passed, N failed, N skipped", for machines to read. A file that fails to load, an
// error outside any test, and a secret in what the tests print count as failed: the line never looks better than the run was.
import type { Reporter, SerializedError, TestModule } from "vitest/node";
import { secretsIn } from "./secrets.ts";

export default class ClosingLineReporter implements Reporter {
  readonly #printed = new Set<string>();

  onUserConsoleLog({ content }: { readonly content: string }): void {
    for (const secret of secretsIn(content)) this.#printed.add(secret);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length + this.#printed.size, skipped: 0 };
    for (const secret of this.#printed) console.log(`The tests have printed ${secret}.`);
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // A test still pending at the end never ran, because the run was interrupted.
        counts[state === "pending" ? "skipped" : state] += 1;
      }
    }
    // The exit code follows what vitest counts itself.
    if (this.#printed.size > 0) process.exitCode = 1;
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}
