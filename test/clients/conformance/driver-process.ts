// A driver: the client of one language as a process that reads commands and writes answers and events as lines of
// JSON. Keeps everything it writes in order. Must not know what commands mean.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { endWithRunner } from "./end-with-runner.ts";

/** For what a driver does in its own time; a step that takes longer has failed. */
export const PATIENCE_MS = 30_000;
const END_PATIENCE_MS = 15_000;
const LAST_WORDS_LINES = 15;

export type Json = Readonly<Record<string, unknown>>;

/** A line from the driver. */
export interface Heard {
  /** Its index among all lines of this driver. */
  readonly order: number;
  readonly atMs: number;
  readonly atEpochMs: number;
  readonly line: Json;
}

/** A command that was sent. */
export interface Asked {
  readonly sentMs: number;
  readonly answer: Promise<Heard>;
}

export class DriverProcess {
  readonly #child: ChildProcess;
  readonly #release: () => void;
  readonly #open = new Map<number, (heard: Heard) => void>();
  readonly #gone: Promise<never>;
  readonly #exited: Promise<unknown>;
  #events: Heard[] = [];
  #onEvent = new Set<() => void>();
  #order = 0;
  #ids = 0;
  #errors: string[] = [];
  readonly #tell: ((event: Json) => void) | undefined;

  /** @param tell gets the events, in order, which are then not kept. */
  constructor(script: string, env: Readonly<Record<string, string>> = {}, tell?: (event: Json) => void) {
    this.#tell = tell;
    // Its own process group: if the script does not exec its driver, both are stopped.
    this.#child = spawn(script, [], {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
      env: { ...process.env, ...env },
    });
    this.#exited = once(this.#child, "close");
    this.#gone = this.#exited.then(
      () =>
        Promise.reject(
          this.#fault(`The driver has ended with ${this.#child.exitCode ?? this.#child.signalCode}.`),
        ),
      (error) => Promise.reject(this.#fault(`The driver could not be run: ${error}`)),
    );
    this.#gone.catch(() => {});
    const { stdin, stdout, stderr } = this.#child;
    // The end of the process reports it.
    stdin?.on("error", () => {});
    createInterface({ input: stdout as never }).on("line", (line) => this.#take(line));
    createInterface({ input: stderr as never }).on("line", (line) => {
      this.#errors = [...this.#errors.slice(1 - LAST_WORDS_LINES), line];
    });
    this.#release = endWithRunner(() => this.kill());
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  ask(command: Json): Asked {
    const id = ++this.#ids;
    const answer = new Promise<Heard>((resolve) => this.#open.set(id, resolve));
    const sentMs = performance.now();
    (this.#child.stdin as Writable).write(`${JSON.stringify({ id, ...command })}\n`);
    return { sentMs, answer: Promise.race([answer, this.#gone]) };
  }

  /** All matching events so far, in order. */
  events(fits: (event: Json) => boolean): Heard[] {
    return this.#events.filter(({ line }) => fits(line));
  }

  /** The first matching event, which may already have come. */
  async event(fits: (event: Json) => boolean, withinMs = PATIENCE_MS): Promise<Heard> {
    const found = Promise.withResolvers<Heard>();
    const look = () => {
      const [heard] = this.events(fits);
      if (heard) found.resolve(heard);
    };
    this.#onEvent.add(look);
    look();
    const timer = setTimeout(() => found.reject(new Error(`No such event within ${withinMs} ms.`)), withinMs);
    try {
      return await Promise.race([found.promise, this.#gone]);
    } finally {
      clearTimeout(timer);
      this.#onEvent.delete(look);
    }
  }

  freeze(): void {
    this.#signal("SIGSTOP");
  }

  thaw(): void {
    this.#signal("SIGCONT");
  }

  /** Closes its standard input and waits for its end. Throws unless the exit code is 0. */
  async end(): Promise<void> {
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.kill(), END_PATIENCE_MS);
    await this.#exited;
    clearTimeout(timer);
    const { exitCode, signalCode } = this.#child;
    if (exitCode === 0) return;
    const how = signalCode === "SIGKILL" ? `did not end within ${END_PATIENCE_MS} ms` : "ended";
    throw this.#fault(`The driver ${how} after its standard input: ${exitCode ?? signalCode}.`);
  }

  /** Makes sure that the process is gone, whatever its state. */
  async destroy(): Promise<void> {
    this.kill();
    await this.#exited.catch(() => {});
    this.#release();
  }

  kill(): void {
    if (!this.hasEnded) this.#signal("SIGKILL");
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
  }

  #take(text: string): void {
    let line: Json;
    try {
      line = JSON.parse(text);
    } catch {
      this.#errors.push(`(on the standard output) ${text}`);
      return;
    }
    const heard = { order: ++this.#order, atMs: performance.now(), atEpochMs: Date.now(), line };
    if (typeof line.id === "number") {
      this.#open.get(line.id)?.(heard);
      this.#open.delete(line.id);
      return;
    }
    if (this.#tell) {
      this.#tell(line);
      return;
    }
    this.#events.push(heard);
    for (const look of this.#onEvent) look();
  }

  #fault(what: string): Error {
    return new Error([what, ...this.#errors].join("\n    "));
  }
}
