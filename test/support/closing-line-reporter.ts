// Ends a run with one plain line, "N passed, N failed, N skipped", for machines to read. A file that fails to load and
// an error outside any test count as failed: the line never looks better than the run was.
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        // A test still pending at the end never ran, because the run was interrupted.
        counts[state === "pending" ? "skipped" : state] += 1;
      }
    }
    console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}
