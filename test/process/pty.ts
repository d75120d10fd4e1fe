// A pseudo-terminal for one command line: press keys, read the screen. Linux only, because it uses the Linux
// `script`.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";

const HOUSE = join(import.meta.dirname, "../..");

export const HAS_PTY = process.platform === "linux";
export const CTRL_C = "\x03";

export class Pty {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #screen = "";
  /** Resolved when more output arrives or the command ends, and then replaced. */
  #more = Promise.withResolvers<void>();

  constructor(line: string, env: Readonly<Record<string, string>> = {}) {
    const options = ["--quiet", "--flush", "--return", "--command", line, "/dev/null"];
    this.#child = spawn("script", options, {
      cwd: HOUSE,
      env: { PATH: process.env.PATH, HOME: "/nonexistent", TERM: "xterm", ...env },
      stdio: "pipe",
      detached: true,
    });
    this.#closed = once(this.#child, "close").then(() => this.#tell());
    this.#child.stdout?.on("data", (chunk) => {
      this.#screen += String(chunk).replaceAll("\x1b", "␛");
      this.#tell();
    });
  }

  /** All output since the start, with ␛ for the escape character. */
  get screen(): string {
    return this.#screen;
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until the output after `from` matches. Throws if the command ends first. */
  async shows(what: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.#screen.slice(from));
      if (found) {
        // Counts as an assertion of the test.
        expect(this.#screen.slice(from)).toMatch(what);
        return found;
      }
      if (this.#child.exitCode !== null)
        throw new Error(`It ended without showing ${what}:\n${JSON.stringify(this.#screen)}`);
      await this.#more.promise;
    }
  }

  /** The exit code of the command, once it has ended. */
  async ended(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  /** Kills what is left of it. */
  async destroy(): Promise<void> {
    try {
      process.kill(-(this.#child.pid as number), "SIGKILL");
    } catch {
      // Nothing is left.
    }
    await this.#closed;
  }

  #tell(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}
