// The level of this version: a number that says how it decides and what it writes, as far as the schema does not show it.
// Servers of several versions may decide over one database only if each understands what the others write. Owns the
// numbers and what is said to a server that is too old; who checks them is in storage/fleet.ts and in
// engine/transaction/checked-store.ts.
//
// Raise LEVEL by one with a change after which a server of the version before would misunderstand or undo what this version
// writes, unless a migration that needs itself keeps that server out. The version before must already read the new form.

/** The level of this version. */
export const LEVEL = 1;

/**
 * The lowest level of servers that may decide while this one does: the level of the version before. When a server starts,
 * it records this number in the database, and servers below it stop. Level 0: versions that did not register a level.
 */
export const LEVEL_MIN = 0;

/** The label of an error that says that this server is too old. */
export const TOO_OLD = "too_old";

/** What a database records of levels. */
export interface LevelMin {
  /** Servers below this level must not decide. */
  readonly level: number;
  /** The version that raised it last; empty: none did. */
  readonly by: string;
}

/** Why a server of this version must not decide, and what to do; null: it may. */
export function whyTooOld({ level, by }: LevelMin): string | null {
  if (level <= LEVEL) return null;
  return (
    `This server is too old for its database: it has level ${LEVEL}, and version ${by} has used the database, which rules ` +
    `out servers below level ${level}. Start version ${by} or the one before it.`
  );
}
