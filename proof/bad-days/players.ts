// One program in each language that takes a lock and holds it: hold.ts, hold.py, hold.go, Hold.java, and `rowlock run`.
// Each prints what happens to it, as a line of JSON: begins, waiting, held, signalled (the client reports the loss),
// left (the scope has ended well), or failed with the type of the error and its message.

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endWithRunner } from "../../test/clients/conformance/end-with-runner.ts";

const root = join(import.meta.dirname, "../..");
/** Longer than any of them should take; what still runs then is reported as such. */
const PATIENCE_MS = 40_000;

export interface Player {
  readonly language: string;
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Where a player finds a server, and how long it tries: 5 s, and longer where it has to connect on a busy machine first.
 * `ca` is empty for plain text, "system", or a file.
 */
export interface Where {
  readonly address: string;
  readonly ca?: string;
  readonly giveUpS?: number;
}

/** What became of one player. Times are since the fault, or since its call if the fault was there before. */
export interface Said {
  readonly language: string;
  readonly signalledMs: number | undefined;
  readonly endedMs: number;
  readonly type: string;
  readonly message: string;
  /** How many lines a library has written to standard error. */
  readonly noise: number;
}

/** It says when it is stopped: `rowlock run` does that when it learns of the loss. */
const SHELL_SCRIPT = `trap 'echo "[\\"signalled\\"]"; exit 1' TERM; echo '["held"]'; read -r line`;
/** How gRPC's own libraries log; our clients are to keep them quiet. */
const OF_A_LIBRARY = /^[IWEF]\d{4} |^\s+at |netty|io\.grpc/;

/** Builds what has to be built. Throws if a client is not built: each has `scripts/build`. */
export function makePlayers(): { readonly players: readonly Player[]; remove(): void } {
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-bad-days-"));
  const here = (file: string) => join(import.meta.dirname, file);
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  try {
    copyFileSync(here("hold.go"), join(scratch, "hold.go"));
    const go = (...args: string[]) =>
      execFileSync("go", args, { cwd: scratch, stdio: ["ignore", "ignore", "inherit"] });
    go("mod", "init", "example.com/hold");
    go("work", "init", ".", join(root, "clients/go"));
    go("build", "-o", "hold", ".");
    const target = join(root, "clients/java/target");
    const needed = readFileSync(join(target, "class-path"), "utf8");
    const classes = [scratch, join(target, "classes"), needed].join(":");
    execFileSync("javac", ["-cp", classes, "-d", scratch, here("Hold.java")], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const python = join(root, "clients/python/.venv/bin/python");
    if (!existsSync(python)) throw new Error("first run clients/python/scripts/build");
    return {
      players: [
        { language: "TypeScript", command: process.execPath, args: [here("hold.ts")] },
        { language: "Python", command: python, args: [here("hold.py")] },
        { language: "Go", command: join(scratch, "hold"), args: [] },
        { language: "Java", command: "java", args: ["-XX:TieredStopAtLevel=1", "-cp", classes, "Hold"] },
        { language: "shell", command: process.execPath, args: [join(root, "server/main.ts")] },
      ],
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** A player that plays: start it, hear what it says, and wait for its end. */
export class Playing {
  readonly language: string;
  readonly lock: string;
  readonly #child: ChildProcess;
  readonly #heard = new Map<string, PromiseWithResolvers<number>>();
  readonly #ended: Promise<number>;
  readonly #dismiss: () => void;
  #failed: readonly [type: string, message: string] | undefined;
  #err = "";

  constructor({ language, command, args }: Player, { address, ca = "", giveUpS = 5 }: Where) {
    this.language = language;
    this.lock = `job/${language.toLowerCase()}`;
    const flags = ca === "" ? [] : ca === "system" ? ["--tls"] : ["--tls", "--ca", ca];
    const run = [
      "run",
      this.lock,
      "--addr",
      address,
      "--ttl",
      "5s",
      "--give-up-after",
      `${giveUpS}s`,
      ...flags,
    ];
    const all = language === "shell" ? [...args, ...run, "--", "sh", "-c", SHELL_SCRIPT] : args;
    const startedMs = performance.now();
    this.#child = spawn(command, all, {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        ROWLOCK_ADDR: address,
        LOCK: this.lock,
        CA: ca,
        GIVE_UP_SECONDS: String(giveUpS),
      },
      stdio: "pipe",
    });
    this.#dismiss = endWithRunner(() => this.#child.kill("SIGKILL"));
    // Only the shell's start is part of what its user waits for.
    if (language === "shell") this.#moment("begins").resolve(startedMs);
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
      const [what = "", ...rest] = JSON.parse(line) as string[];
      if (what === "failed") this.#failed = rest as [string, string];
      this.#moment(what).resolve(performance.now());
    });
    this.#child.stderr?.on("data", (chunk) => {
      this.#err += chunk;
      if (language === "shell" && /waiting for/.test(this.#err))
        this.#moment("waiting").resolve(performance.now());
    });
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), PATIENCE_MS);
    this.#ended = new Promise((resolve, reject) => {
      this.#child.on("error", reject);
      this.#child.on("close", () => {
        clearTimeout(timer);
        this.#dismiss();
        resolve(performance.now());
      });
    });
  }

  /** The moment at which it said so. Throws if it ends before. */
  async heard(what: string): Promise<number> {
    const ended = this.#ended.then(() => {
      throw new Error(
        `${this.language} ended before it was "${what}": ${this.#failed?.join(": ")}\n${this.#err}`,
      );
    });
    return await Promise.race([this.#moment(what).promise, ended]);
  }

  leave(): void {
    this.#child.stdin?.write("leave\n");
  }

  /** Waits for its end. */
  async said(sinceMs?: number): Promise<Said> {
    const endedMs = await this.#ended;
    const fromMs = sinceMs ?? (await this.#moment("begins").promise);
    const signalled = this.#heard.get("signalled");
    const { exitCode } = this.#child;
    const [type, message] =
      this.language === "shell"
        ? [exitCode === null ? "" : `exit code ${exitCode}`, this.#err.trim().split("\n").at(-1) ?? ""]
        : (this.#failed ?? ["", ""]);
    const isLeft = this.language === "shell" ? exitCode === 0 : this.#heard.has("left");
    return {
      language: this.language,
      signalledMs: signalled && (await signalled.promise) - fromMs,
      endedMs: endedMs - fromMs,
      type: this.#child.signalCode === "SIGKILL" ? "still running" : isLeft ? "no error" : type,
      message,
      noise: this.#err.split("\n").filter((line) => OF_A_LIBRARY.test(line)).length,
    };
  }

  #moment(what: string): PromiseWithResolvers<number> {
    const known = this.#heard.get(what) ?? Promise.withResolvers<number>();
    this.#heard.set(what, known);
    return known;
  }
}
