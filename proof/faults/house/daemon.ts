// A database server of a run.

import { setTimeout as sleep } from "node:timers/promises";
import { createConnection, type RowDataPacket } from "mysql2/promise";

/** Deadlock; lock wait timeout. */
const IN_THE_WAY = [1213, 1205];

/** A database server. */
export interface Daemon {
  readonly port: number;
  kill(): Promise<void>;
  /** Stops all of its threads, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Runs the statements on one connection, holds what they locked for the time, and rolls back. */
  hold(statements: readonly string[], forMs: number): Promise<void>;
  run(statement: string): Promise<RowDataPacket[]>;
  /** Runs the statements as one transaction, again if it meets others. */
  together(statements: readonly string[]): Promise<void>;
  /** Returns when it takes part again, after it was killed, frozen or cut off. Starts it if nothing else does. */
  comeBack(): Promise<void>;
}

export function daemonAt(
  address: string,
  life: Pick<Daemon, "kill" | "freeze" | "thaw" | "comeBack">,
): Daemon {
  const port = Number(new URL(address).port);
  const url = urlOf(address, [port]);
  return {
    port,
    kill: life.kill,
    freeze: life.freeze,
    thaw: life.thaw,
    comeBack: life.comeBack,
    hold: (statements, forMs) =>
      onConnection(url, async (run) => {
        while (!(await locks(run, statements))) await sleep(10);
        await sleep(forMs);
      }),
    run: (statement) => onConnection(url, (run) => run(statement)),
    together: (statements) =>
      onConnection(url, async (run) => {
        while (!(await locks(run, [...statements, "COMMIT"]))) await sleep(10);
      }),
  };
}

/** Of the database that Rowlock uses, at several ports of this machine. */
export function urlOf(address: string, ports: readonly number[]): string {
  const { username, password } = new URL(address);
  return `mysql://${username}:${password}@${ports.map((port) => `127.0.0.1:${port}`).join(",")}/rowlock`;
}

/** Runs the statements in a transaction. False: another one was in the way, and nothing is locked or changed. */
async function locks(run: Run, statements: readonly string[]): Promise<boolean> {
  try {
    await run("START TRANSACTION");
    for (const statement of statements) await run(statement);
    return true;
  } catch (error) {
    if (!IN_THE_WAY.includes((error as { errno?: number }).errno ?? 0)) throw error;
    await run("ROLLBACK");
    return false;
  }
}

type Run = (statement: string) => Promise<RowDataPacket[]>;

async function onConnection<Result>(uri: string, work: (run: Run) => Promise<Result>): Promise<Result> {
  const connection = await createConnection({ uri, connectTimeout: 2_000 });
  connection.on("error", () => {});
  try {
    return await work(async (statement) => (await connection.query<RowDataPacket[]>(statement))[0]);
  } finally {
    connection.destroy();
  }
}
