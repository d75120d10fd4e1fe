// A shell that is typed into, as a reader of the documents does: what is pasted runs line by line, and what is shown is
// what the commands write. Ends only what was started in it.

import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const HOUSE = join(import.meta.dirname, "../..");

export class Terminal {
  readonly #shell: ChildProcess;
  readonly #closed: Promise<unknown>;
  #screen = "";
  #pastes = 0;
  /** Settled when more is shown, or the shell has ended; then there is a new one. */
  #more = Promise.withResolvers<void>();

  constructor(env: Readonly<Record<string, string>> = {}) {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("ROWLOCK_"));
    this.#shell = spawn("bash", ["--noprofile", "--norc"], {
      cwd: HOUSE,
      env: { ...Object.fromEntries(inherited), ...env },
      stdio: ["pipe", "pipe", "pipe"],
      // A group of its own, so that what runs in it can be stopped with it.
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

  /** Pastes, and waits until the shell takes the next line: what was shown in between. */
  async run(text: string): Promise<string> {
    const from = this.#screen.length;
    await this.start(text).done;
    return this.#screen.slice(from);
  }

  /** Pastes what goes on; `done` is settled when the shell takes the next line. */
  start(text: string): { readonly done: Promise<unknown> } {
    this.#pastes += 1;
    const mark = `-- the shell is back (${this.#pastes})`;
    this.#shell.stdin?.write(`${text}\necho '${mark}'\n`);
    return { done: this.shows(new RegExp(mark.replace(/[()]/g, "\\$&"))) };
  }

  /** Waits until the screen shows what is looked for. Fails if the shell ends before. */
  async shows(what: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = what.exec(this.#screen);
      if (found) return found;
      if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) {
        throw new Error(`The shell ended without showing ${what}:\n${this.#screen}`);
      }
      await this.#more.promise;
    }
  }

  /** As Ctrl-C and closing the window: whatever its state, it is gone afterwards, with all that runs in it. */
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
      // Nobody is left in its group.
    }
  }
}
