// A shell to paste into, as a reader of the documents does: pasted lines run one by one, and the screen shows what
// the commands print. Ends only what was started in it.

import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect } from "vitest";

const HOUSE = join(import.meta.dirname, "../..");

export class Terminal {
  readonly #shell: ChildProcess;
  readonly #closed: Promise<unknown>;
  #screen = "";
  #pastes = 0;
  /** Resolved when more output arrives or the shell ends, and then replaced. */
  #more = Promise.withResolvers<void>();

  constructor(env: Readonly<Record<string, string>> = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("ROWLOCK_"));
    this.#shell = spawn("bash", ["--noprofile", "--norc"], {
      cwd: HOUSE,
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ["pipe", "pipe", "pipe"],
      // Its own process group, so that everything that runs in it can be stopped with it.
      detached: true,
    });
    this.#closed = once(this.#shell, "close");
    for (const stream of [this.#shell.stdout, this.#shell.stderr]) {
      stream?.on("data", (chunk) => {
        this.#screen += chunk;
        this.#tell();
      });
    }
    this.#shell.on("close", () => this.#tell());
  }

  /** Pastes the text and waits until the shell takes the next line. Returns the output in between. */
  async run(text: string): Promise<string> {
    const from = this.#screen.length;
    await this.start(text).done;
    return this.#screen.slice(from);
  }

  /** Pastes a command that keeps running; `done` resolves when the shell takes the next line. */
  start(text: string): { readonly done: Promise<unknown> } {
    this.#pastes += 1;
    const mark = `-- the shell is back (${this.#pastes})`;
    this.#shell.stdin?.write(`${text}\necho '${mark}'\n`);
    return { done: this.shows(new RegExp(mark.replace(/[()]/g, "\\$&"))) };
  }

  /** Waits until the screen matches. Throws if the shell ends first. */
  async shows(what: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.#screen);
      if (found) {
        // Counts as an assertion of the test.
        expect(this.#screen).toMatch(what);
        return found;
      }
      if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) {
        throw new Error(`The shell ended without showing ${what}:\n${this.#screen}`);
      }
      await this.#more.promise;
    }
  }

  /** Like Ctrl-C and closing the window: afterwards the shell and everything in it are gone, whatever its state. */
  async close(): Promise<void> {
    this.#signal("SIGTERM");
    this.#shell.stdin?.end();
    await this.#closed;
  }

  #tell(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.#shell.pid as number), signal);
    } catch {
      // Its group is empty.
    }
  }
}
