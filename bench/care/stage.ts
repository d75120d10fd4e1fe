// What a trial has started: private database servers, a Rowlock server at an address that stays the same, and clients.
// All of it ends with the trial.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { RowlockProcess, screenOf } from "../../test/process/server-process.ts";
import type { Flavour } from "../../test/support/mysql-family/found-server.ts";
import { ownBinaries } from "../../test/support/mysql-family/own-binaries.ts";
import { freePort, startPrivateServer } from "../../test/support/mysql-family/private-server.ts";
import { Clients } from "./clients.ts";

const COMMAND_MS_MAX = 120_000;
const PATIENCE_MS = 60_000;
const POLL_EVERY_MS = 50;
/** How long places are kept after a start: long enough for a busy machine. */
const GRACE = "60s";

/** Something that a trial needs is not installed. */
export class Missing extends Error {}

export interface DatabaseServer {
  /** Of the database rowlock, which need not exist yet. */
  readonly url: string;
  query(sql: string): Promise<RowDataPacket[]>;
  /** A tool such as `mysqldump`, with what logs in; `name` without the maker: dump, binlog, or empty for the client. */
  tool(name: "" | "dump" | "binlog", args: readonly string[], files?: Files): Promise<void>;
  /** At once, as when the machine dies. */
  kill(): Promise<void>;
}

interface Files {
  readonly input?: string;
  readonly output?: string;
}

export class Stage {
  readonly flavour: Flavour | "sqlite";
  readonly folder: string;
  readonly #cleanups: (() => unknown)[] = [];
  readonly #port: number;
  #server: RowlockProcess | undefined;

  private constructor(flavour: Flavour | "sqlite", folder: string, port: number) {
    this.flavour = flavour;
    this.folder = folder;
    this.#port = port;
    this.afterwards(() => rm(folder, { recursive: true, force: true }));
  }

  static async open(flavour: Flavour | "sqlite"): Promise<Stage> {
    return new Stage(flavour, await mkdtemp(join(tmpdir(), "rowlock-care-")), await freePort());
  }

  afterwards(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup);
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Clients that keep on calling while servers come and go. */
  clients(): Clients {
    const clients = new Clients(`127.0.0.1:${this.#port}`);
    this.afterwards(() => clients.close());
    clients.start();
    return clients;
  }

  /** Starts a Rowlock server. Returns it when it serves. */
  async serve(url: string, ...flags: string[]): Promise<RowlockProcess> {
    const ports = ["--listen", `127.0.0.1:${this.#port}`, "--metrics-listen", "127.0.0.1:0"];
    const server = new RowlockProcess(["serve", "--database-url", url, ...ports, "--grace", GRACE, ...flags]);
    this.#server = server;
    this.afterwards(() => server.destroy());
    await screenOf(server);
    return server;
  }

  async stopServing(): Promise<void> {
    this.#server?.kill("SIGTERM");
    await this.#server?.ended();
  }

  /** Runs a command that must succeed. Returns what it prints. */
  async rowlock(url: string, ...args: string[]): Promise<string> {
    const process = new RowlockProcess(args, { ROWLOCK_DATABASE_URL: url });
    const { code, out, err } = await process.ended();
    if (code !== 0) throw new Error(`rowlock ${args.join(" ")} ended with ${code}\n${out}${err}`);
    return out;
  }

  async binary(): Promise<string> {
    const binary = (await ownBinaries()).get(this.flavour as Flavour);
    if (binary === undefined) throw new Missing(`no ${this.flavour} server is installed or named`);
    return binary;
  }

  /** Starts a database server that writes a binary log. `data`: a data directory of another one, to be moved. */
  async database(flags: readonly string[] = [], data?: string): Promise<DatabaseServer> {
    const flavour = this.flavour as Flavour;
    const binary = await this.binary();
    const log = [
      "--log-bin=binlog",
      ...(flavour === "mysql" ? ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"] : []),
    ];
    const { server, stop } = await startPrivateServer(binary, flavour, {
      flags: [...log, ...flags],
      ...(data === undefined ? {} : { data }),
    });
    this.afterwards(stop);
    const query = (sql: string) => ask(server.url, sql);
    const { username, password, port } = new URL(server.url);
    return {
      url: `${server.url}/rowlock`,
      query,
      tool: (name, args, files) =>
        run(
          toolOf(binary, flavour, name),
          name === "binlog"
            ? args
            : [`--user=${username}`, "--host=127.0.0.1", `--port=${port}`, "--protocol=tcp", ...args],
          files,
          { MYSQL_PWD: password },
        ),
      async kill() {
        const [row] = await query("SELECT @@pid_file AS file");
        process.kill(Number(await readFile(String(row?.file), "utf8")), "SIGKILL");
      },
    };
  }
}

/** The tool beside the server's binary, or on the path. */
export function toolOf(binary: string, flavour: Flavour, name: string): string {
  const tool = flavour === "mysql" ? `mysql${name}` : name === "" ? "mariadb" : `mariadb-${name}`;
  return pathOf(tool, dirname(binary));
}

export function pathOf(tool: string, ...first: string[]): string {
  const folders = [...first, ...(process.env.PATH ?? "").split(delimiter)];
  const path = folders.map((folder) => join(folder, tool)).find((each) => existsSync(each));
  if (path === undefined) throw new Missing(`${tool} is not installed`);
  return path;
}

/** Runs a command that must succeed. */
export async function run(
  command: string,
  args: readonly string[],
  { input, output }: Files = {},
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  if (input === undefined && output === undefined) {
    await promisify(execFile)(command, args, { env: { ...process.env, ...env }, timeout: COMMAND_MS_MAX });
    return;
  }
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    timeout: COMMAND_MS_MAX,
  });
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors += chunk;
  });
  const closed = once(child, "close");
  if (input === undefined) child.stdin.end();
  else createReadStream(input).pipe(child.stdin);
  // The command may end before it has read all of it; its exit code then says why.
  child.stdin.on("error", () => {});
  if (output === undefined) child.stdout.resume();
  else {
    const file = createWriteStream(output);
    child.stdout.pipe(file);
    await once(file, "close");
  }
  const [code] = await closed;
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}: ${errors}`);
}

export async function ask(uri: string, sql: string): Promise<RowDataPacket[]> {
  const connection = await createConnection({ uri, multipleStatements: true });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(sql);
    return rows;
  } finally {
    connection.destroy();
  }
}

export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await isTrue())) {
    if (performance.now() > deadlineMs) throw new Error(`waited too long: ${what}`);
    await sleep(POLL_EVERY_MS);
  }
}
