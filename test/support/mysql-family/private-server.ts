// Starts a private server from a binary on this machine, with its own data directory, free loopback port and password.
// Durability settings stay as in production; only memory and features that the tests never use are reduced.

import type { ChildProcess } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import type { Flavour, FoundServer } from "./found-server.ts";
import { postGuardian } from "./guardian.ts";
import { identify } from "./identify.ts";

const START_PATIENCE_MS = 90_000;
const STOP_PATIENCE_MS = 15_000;
const RESTART_MS = 500;
const FROZEN_LOOK_MS = 5;
const CONNECT_MS_MAX = 10_000;
const LOG_TAIL_LINES = 20;
const PORTS_FROM = 15_000;
const PORTS_TO = 32_000;
const PORT_TRIES_MAX = 20;
const run = promisify(execFile);

export interface RunningServer {
  readonly server: FoundServer;
  /** Stops the server and removes its files; can be called twice. */
  stop(): Promise<void>;
}

export interface PrivateServer extends RunningServer {
  /** Ends it without notice. */
  kill(): Promise<void>;
  /** Stops all of its threads, until `thaw`: it keeps its connections and answers nothing. */
  freeze(): Promise<void>;
  thaw(): void;
  hasEnded(): boolean;
  /** After `kill`: on the same data and port, with these flags on top. */
  startAgain(...flags: string[]): Promise<void>;
}

/** The flavour that a binary reports; undefined if it does not run here. */
export async function flavourOf(binary: string): Promise<Flavour | undefined> {
  try {
    const { stdout } = await run(binary, ["--no-defaults", "--version"]);
    return stdout.includes("MariaDB") ? "mariadb" : "mysql";
  } catch {
    return undefined;
  }
}

export interface PrivateServerOptions {
  /** Where its directory is created; the system's temporary folder by default. */
  readonly parent?: string;
  /** Added to, and after, the flags of every private server. */
  readonly flags?: readonly string[];
  /** Added to this process's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Moves this data directory of another server into place, instead of creating an empty one. */
  readonly data?: string;
  /** Of its user; random by default. */
  readonly password?: string;
  /** Restarts the server when it exits by itself, on the same data and port, as a service manager does. */
  readonly isRestarted?: boolean;
}

/** Starts `binary` and waits until it answers. Throws with the end of its log if it does not come up. */
export async function startPrivateServer(
  binary: string,
  flavour: Flavour,
  {
    parent = tmpdir(),
    flags: more = [],
    env = {},
    data: moved,
    password = randomBytes(12).toString("hex"),
    isRestarted = false,
  }: PrivateServerOptions = {},
): Promise<PrivateServer> {
  const directory = await mkdtemp(join(parent, `rowlock-${flavour}-`));
  const log = join(directory, "error.log");
  const data = join(directory, "data");
  let child: ChildProcess | undefined;
  let isStopped = false;
  const guardian = postGuardian(directory);
  const stop = async () => {
    isStopped = true;
    if (child !== undefined) await stopProcess(child);
    await rm(directory, { recursive: true, force: true });
    guardian.dismiss();
  };

  try {
    if (moved === undefined) await createDataDirectory(binary, flavour, data);
    else await rename(moved, data);
    const newPassword = moved === undefined ? "" : `ALTER USER 'rowlock'@'%' IDENTIFIED BY '${password}';\n`;
    await writeFile(
      join(directory, "init.sql"),
      `CREATE USER IF NOT EXISTS 'rowlock'@'%' IDENTIFIED BY '${password}';\n${newPassword}GRANT ALL ON *.* TO 'rowlock'@'%' WITH GRANT OPTION;\n`,
    );
    const port = await freePort();
    const flags = [...serverFlags(flavour, directory, data, log, port), ...more];
    const start = (...last: string[]) => {
      // A separate process group: the terminal's interrupt ends the tests, which then stop the server.
      const started = spawn(binary, [...flags, ...last], {
        detached: true,
        stdio: "ignore",
        env: { ...process.env, ...env },
      });
      child = started;
      if (started.pid !== undefined) guardian.watch(started.pid);
      return started;
    };
    const url = `mysql://rowlock:${password}@127.0.0.1:${port}`;
    const answers = (started: ChildProcess) => {
      let failure: Error | undefined;
      started.on("error", (error) => {
        failure = error;
      });
      return identify(url, START_PATIENCE_MS, () => {
        if (failure !== undefined) throw failure;
        if (hasEnded(started))
          throw new Error(`${binary} ended with ${started.exitCode ?? started.signalCode}`);
      });
    };
    const started = start();
    const server = await answers(started);
    if (isRestarted) startAgainWhenever(started);
    function startAgainWhenever(ended: ChildProcess): void {
      ended.once("exit", async (code, signal) => {
        if (isStopped) return;
        console.warn(`${binary} ended with ${code ?? signal}, and is started again.`);
        await sleep(RESTART_MS);
        if (!isStopped) startAgainWhenever(start());
      });
    }
    const running = () => child as ChildProcess;
    return {
      server,
      kill: () => killed(running()),
      freeze: () => frozen(running()),
      thaw: () => void running().kill("SIGCONT"),
      hasEnded: () => hasEnded(running()),
      async startAgain(...last) {
        await answers(start(...last));
      },
      stop,
    };
  } catch (error) {
    const tail = existsSync(log)
      ? readFileSync(log, "utf8").trimEnd().split("\n").slice(-LOG_TAIL_LINES)
      : [];
    await stop();
    throw new Error([`${binary} did not start: ${(error as Error).message}`, ...tail].join("\n  "), {
      cause: error,
    });
  }
}

/** Ends a process without notice. */
export async function killed(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

/** Stops a process. Resolves when all of its threads have stopped, which `kill` does not wait for. */
export async function frozen(child: ChildProcess): Promise<void> {
  child.kill("SIGSTOP");
  while (!/\) T /.test(readFileSync(`/proc/${child.pid}/stat`, "utf8"))) await sleep(FROZEN_LOOK_MS);
}

/** Runs statements over a connection of their own; returns the rows of the last one. */
export async function runAt(url: string, ...statements: string[]): Promise<RowDataPacket[]> {
  const connection = await createConnection({ uri: url, connectTimeout: CONNECT_MS_MAX });
  try {
    let rows: RowDataPacket[] = [];
    for (const statement of statements) [rows] = await connection.query<RowDataPacket[]>(statement);
    return rows;
  } finally {
    connection.destroy();
  }
}

/** Both servers refuse to run as root without this flag. */
export const asRoot = () => (process.getuid?.() === 0 ? ["--user=root"] : []);

/**
 * Where a server keeps its data and its temporary tables. A server deletes every `#sql` file in its temporary folder
 * when it starts, including files that another server is using, so each one gets its own.
 */
export function fileFlags(data: string): string[] {
  const temporary = `${data}.tmp`;
  mkdirSync(temporary, { recursive: true });
  return [`--datadir=${data}`, `--tmpdir=${temporary}`];
}

/** An empty data directory, whose root user has no password. */
export async function createDataDirectory(binary: string, flavour: Flavour, data: string): Promise<void> {
  if (flavour === "mysql") {
    await run(binary, ["--no-defaults", "--initialize-insecure", ...fileFlags(data), ...asRoot()]);
    return;
  }
  await run(installerFor(binary), [
    "--no-defaults",
    ...fileFlags(data),
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
    ...asRoot(),
  ]);
}

/** MariaDB's installer is a script near the server or on the path. */
function installerFor(binary: string): string {
  const near = [".", "../bin", "../scripts"].map((folder) =>
    join(dirname(binary), folder, "mariadb-install-db"),
  );
  return near.find((path) => existsSync(path)) ?? "mariadb-install-db";
}

function serverFlags(flavour: Flavour, directory: string, data: string, log: string, port: number): string[] {
  return [
    "--no-defaults",
    ...fileFlags(data),
    `--port=${port}`,
    // Unique among this machine's servers, as it would be among replicas.
    `--server-id=${port}`,
    "--bind-address=127.0.0.1",
    `--socket=${join(directory, "s.sock")}`,
    `--pid-file=${join(directory, "pid")}`,
    `--log-error=${log}`,
    `--init-file=${join(directory, "init.sql")}`,
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=128M",
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    // Many test files keep a pool each.
    "--max-connections=400",
    "--performance-schema=OFF",
    ...(flavour === "mysql" ? ["--mysqlx=OFF"] : []),
    ...asRoot(),
  ];
}

/**
 * An unused loopback port. Not from the range that systems use for outgoing connections, because one of those could
 * take it before it is used.
 */
export async function freePort(): Promise<number> {
  for (let tries = 1; ; tries++) {
    const port = randomInt(PORTS_FROM, PORTS_TO);
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
    } catch (error) {
      if (tries === PORT_TRIES_MAX) throw error;
      continue;
    }
    probe.close();
    await once(probe, "close");
    return port;
  }
}

export const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null;

/** Ends a server normally, or by force if it takes too long. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  // A frozen one would not hear it.
  child.kill("SIGCONT");
  const patience = new AbortController();
  const tooLong = sleep(STOP_PATIENCE_MS, undefined, { signal: patience.signal }).then(
    () => child.kill("SIGKILL"),
    () => false,
  );
  await ended;
  patience.abort();
  await tooLong;
}
