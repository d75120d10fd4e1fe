// What a trial is, what it returns, and what all of them do: clients leave marks before a backup and after it, and
// afterwards it is seen which of them are there.

import type { Flavour } from "../../test/support/mysql-family/found-server.ts";
import type { Clients, Found } from "./clients.ts";
import { type DatabaseServer, Stage } from "./stage.ts";

export interface Trial {
  /** As the option --only names it. */
  readonly name: string;
  readonly databases: readonly (Flavour | "sqlite")[];
  /** Throws if anything is not as docs/operations.md says. */
  run(stage: Stage): Promise<Outcome>;
}

export interface Outcome {
  readonly found: Found;
  /** From the last grant before to the first one after. */
  readonly pauseS: number;
  /** What somebody should know of it. */
  readonly note?: string;
}

/** What a database knows that has lost nothing. */
export const ALL: Found = {
  leaseBefore: true,
  leaseBetween: true,
  leaseAfter: true,
  heldAgain: false,
  placeBefore: true,
  limit: 5,
  status: "after",
};

/** What a backup knows. */
export const BACKED_UP: Found = {
  leaseBefore: true,
  leaseBetween: false,
  leaseAfter: false,
  heldAgain: true,
  placeBefore: true,
  limit: 3,
  status: "before",
};

/** Throws if it is not what was expected. */
export function expectFound(found: Found, expected: Found): void {
  const wrong = Object.entries(expected).filter(([what, value]) => found[what as keyof Found] !== value);
  if (wrong.length === 0) return;
  const sentences = wrong.map(
    ([what, value]) => `${what} is ${found[what as keyof Found]} instead of ${value}`,
  );
  throw new Error(`After the restore, ${sentences.join(", ")}.`);
}

export async function inStage<Answer>(
  database: Flavour | "sqlite",
  run: (stage: Stage) => Promise<Answer>,
): Promise<Answer> {
  const stage = await Stage.open(database);
  try {
    return await run(stage);
  } finally {
    await stage.close();
  }
}

export interface Started {
  readonly source: DatabaseServer;
  readonly clients: Clients;
}

/** A database server with a Rowlock server and busy clients, which have left their first marks. */
export async function started(stage: Stage, flags: readonly string[] = []): Promise<Started> {
  const source = await stage.database(flags);
  await source.query("CREATE DATABASE rowlock");
  await stage.serve(source.url);
  const clients = stage.clients();
  await clients.before();
  return { source, clients };
}

/** `rowlock doctor` must find nothing wrong in what was restored. */
export async function expectHealthy(stage: Stage, url: string): Promise<void> {
  await stage.rowlock(url, "doctor");
}
