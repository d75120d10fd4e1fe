// The process: arguments, environment, signals, exit. Only this file touches it; everything else gets what it needs
// as arguments.

import { fstatSync, readFileSync, writeSync } from "node:fs";
import { finished } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import { type CliContext, EXIT } from "../clients/shell/context.ts";
import { bytesOfVariables, wordsFault } from "./cli/given-words.ts";
import { runCli } from "./cli/program.ts";
import { textOf } from "./config/text-file.ts";
import { versionOf } from "./config/version.ts";
import { crashLine } from "./log/lines.ts";

/** A second signal counts only this long after the first: npm repeats what a terminal has sent to all its processes. */
const SECOND_WISH_AFTER_MS = 1_000;
/** For output to reach a pipe. After it, what is left, such as cut-off sockets, must not keep the process alive. */
const EXIT_WITHIN_MS = 500;

/** For bugs: the state of this process cannot be trusted any more, and the leases are safe in the database. */
function crash(error: unknown): never {
  process.stderr.write(crashLine(error));
  process.exit(1);
}

/** What this process was started with, by bin/inherited.mjs. The environment would also reach commands that it runs. */
const ignoredSignals: readonly string[] = process.env.ROWLOCK_IGNORED_SIGNALS?.match(/SIG[A-Z0-9]+/g) ?? [];
delete process.env.ROWLOCK_IGNORED_SIGNALS;

/** Resolves with the first signal that asks the process to stop. A second one ends the process at once. */
function stopSignal(): Promise<string> {
  const first = Promise.withResolvers<string>();
  let askedMs: number | undefined;
  for (const [signal, number] of [
    ["SIGINT", 2],
    ["SIGTERM", 15],
  ] as const) {
    if (ignoredSignals.includes(signal)) continue;
    process.on(signal, () => {
      if (askedMs !== undefined && performance.now() - askedMs >= SECOND_WISH_AFTER_MS)
        process.exit(128 + number);
      askedMs ??= performance.now();
      first.resolve(signal);
    });
  }
  return first.promise;
}

process.on("uncaughtException", crash);
// Without a listener, this signal opens Node's debugger.
process.on("SIGUSR1", () => {});
const outGone = new AbortController();
/** Whether output was lost that somebody wants. */
let isUnwritten = false;
for (const stream of [process.stdout, process.stderr]) {
  // The reader of the output may be gone (`rowlock --help | head`, a closed terminal), or its disk may be full. That must
  // not crash a server.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (stream === process.stderr) return;
    outGone.abort();
    if (error.code === "EPIPE" || error.code === "EIO") return;
    if (!isUnwritten)
      process.stderr.write(`rowlock: The output cannot be written (${error.code ?? error.message}).\n`);
    isUnwritten = true;
  });
}

/** A stream writes nothing after a failure, but a disk that was full can be written to later. */
function writeErr(text: string): void {
  if (process.stderr.errored === null) {
    process.stderr.write(text);
    return;
  }
  try {
    writeSync(2, text);
  } catch {
    // There is nowhere to report it.
  }
}

/** Standard input alone does not keep the process alive. */
async function inEnded(): Promise<string> {
  const { stdin } = process;
  // A file has no `unref`, and ends by itself.
  stdin.resume().unref?.();
  // An input that breaks has ended, too.
  await finished(stdin).catch(() => {});
  return "end of standard input";
}

/** A file of /proc about this process; empty where there is none. */
function ofProc(name: string): Buffer {
  try {
    return readFileSync(`/proc/self/${name}`);
  } catch {
    return Buffer.alloc(0);
  }
}

function isSameFile(one: number, other: number): boolean {
  try {
    const [first, second] = [fstatSync(one), fstatSync(other)];
    return first.dev === second.dev && first.ino === second.ino;
  } catch {
    // One of them is closed.
    return false;
  }
}

const environ = ofProc("environ");
let asked: Promise<string> | undefined;
const context: CliContext = {
  version: versionOf(import.meta.dirname),
  nodeVersion: process.versions.node,
  memoryMax: process.constrainedMemory(),
  env: process.env,
  readFile: (path) => textOf(readFileSync(path)),
  out: (text) => void process.stdout.write(text),
  err: writeErr,
  outGone: outGone.signal,
  get inEnded() {
    return inEnded();
  },
  outIsErr: isSameFile(1, 2) && !process.stdout.isTTY,
  errIsTerminal: process.stderr.isTTY ?? false,
  get screen() {
    const { isTTY, columns, rows } = process.stdout;
    return isTTY ? { columns, rows } : undefined;
  },
  onKeys(listener) {
    const { stdin } = process;
    if (!stdin.isTTY) return undefined;
    const hear = (keys: Buffer) => listener(String(keys));
    stdin.setRawMode(true).on("data", hear);
    return () => void stdin.off("data", hear).setRawMode(false).pause();
  },
  ignoredSignals,
  bytesOfVariables: bytesOfVariables(environ),
  onSignal(signal, listener, evenIfIgnored = false) {
    if (ignoredSignals.includes(signal) && !evenIfIgnored) return () => {};
    process.on(signal, listener);
    return () => void process.off(signal, listener);
  },
  kill(pid, signal) {
    try {
      return process.kill(pid || process.pid, signal);
    } catch (error) {
      // The process is gone.
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
      throw error;
    }
  },
  // Only commands that ask for it handle signals. The others have nothing to finish, so a signal ends them like any
  // process.
  get stopSignal() {
    asked ??= stopSignal();
    return asked;
  },
};

const args = process.argv.slice(2);
const fault = wordsFault({ cmdline: ofProc("cmdline"), environ, args });
if (fault !== undefined) context.err(fault);
process.exitCode = fault === undefined ? await runCli(args, context).catch(crash) : EXIT.usage;
// An error of the last write is reported in a later tick.
await setImmediate();
if (isUnwritten && process.exitCode === EXIT.ok) process.exitCode = EXIT.failed;
setTimeout(() => process.exit(), EXIT_WITHIN_MS).unref();
