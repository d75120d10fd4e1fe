// The one runner of migrations: one server at a time runs what is pending, in order. How a database keeps other servers
// out, and how it runs and records a migration, is in sqlite-schema.ts and mysql-schema.ts.

import { type Migration, migrations } from "../../../migrations/index.ts";

/** What a database stores about a migration that it has had. */
export interface Applied {
  readonly name: string;
  /** The latest migration that a server must know to use the schema after this one. */
  readonly needs: string;
}

/** The schema of an open database. */
export interface Schema {
  /** Returns the migrations that the database has had, in order. Changes nothing. */
  applied(): Promise<Applied[]>;
  /** Runs `work` while no other server migrates the database. May run it again if another server got in its way. */
  inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer>;
  /** Runs a migration and records it. */
  run(migration: Migration): Promise<void>;
}

/**
 * Runs the pending migrations; returns the names of those that it ran, none if another server was first. Safe to
 * repeat.
 */
export async function runPending(schema: Schema): Promise<string[]> {
  if ((await pendingOf(schema)).length === 0) return [];
  return await schema.inTurn(async () => {
    const pending = await pendingOf(schema);
    for (const migration of pending) await schema.run(migration);
    return pending.map(({ name }) => name);
  });
}

/** Returns the migrations that this server has and the database has not had. */
export async function pendingOf(schema: Schema): Promise<readonly Migration[]> {
  const applied = await schema.applied();
  return migrations.filter(({ name }) => !applied.some((had) => had.name === name));
}
