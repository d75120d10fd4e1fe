// A terminal of its own for one command line, with keys to press and a screen to look at. Only on Linux, whose `script` it is.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const HOUSE = join(import.meta.dirname, "../..");

export const HAS_PTY = process.platform === "linux";
export const CTRL_C = "\x03";

export class Pty {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #screen = "";
  /** Settled when more is shown, or it has ended; then there is a new one. */
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

  /** All that was shown since the beginning, with ␛ for the escape character. */
  get screen(): string {
    return this.#screen;
  }

  press(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Waits until what came after `from` shows what is looked for. Fails if the command ends before. */
  async shows(what: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.#screen.slice(from));
      if (found) return found;
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

  /** Whatever is left of it. */
  async destroy(): Promise<void> {
    try {
      process.kill(-(this.#child.pid as number), "SIGKILL");
    } catch {
      // Nothing is.
    }
    await this.#closed;
  }

  #tell(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}
