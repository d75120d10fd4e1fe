// One started program: its exit, its standard error, and a way to end it as when its machine loses power.

import type { ChildProcess } from "node:child_process";
import { killTree } from "./process-tree.ts";

export class Run {
  readonly #child: ChildProcess;
  readonly #ended = Promise.withResolvers<number | NodeJS.Signals | null>();
  #complaints = "";
  #isReckonedWith = false;
  #hasFailed = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.on("data", (chunk) => {
      this.#complaints += chunk;
    });
    child.on("error", this.#ended.reject);
    child.on("close", (code, signal) => {
      this.#hasFailed = code !== 0;
      this.#ended.resolve(code ?? signal);
    });
  }

  /** Its exit code, or the signal that ended it. A caller that reads this expects that the program may fail. */
  get ended(): Promise<number | NodeJS.Signals | null> {
    this.#isReckonedWith = true;
    return this.#ended.promise;
  }

  /** Its standard error so far. */
  get complaints(): string {
    return this.#complaints;
  }

  /** Throws if the program has failed and nobody expected that: what the test waits for will not come. */
  check(): void {
    if (this.#hasFailed && !this.#isReckonedWith)
      throw new Error(`a program has failed: ${this.#complaints}`);
  }

  /** Kills it and everything it has started, unless it has ended by itself. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) killTree(pid);
    await this.ended;
  }
}
