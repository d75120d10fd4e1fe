// The level of this version: how far it understands what other versions write and decide, as far as the schema does not
// show it. Servers of several versions may decide over one database only if each understands what the others write.
// storage/fleet.ts and engine/transaction/checked-store.ts check it; RELEASING.md says when to raise which.

/** Raise it by one in the version that begins to understand a new form, and writes the old one. */
export const LEVEL = 2;

/**
 * Servers below this level know nothing of pools, and would give nothing back; nor of claims for several locks, of which they would
 * end one row; nor of queue rules, which they would not keep. The first of these keeps them out.
 */
export const POOLS_LEVEL = 2;

/**
 * What a server must understand to decide while this version does: the level that first understood the newest form that
 * this version writes. A server that starts records it in the database, and servers below it stop. Never above the
 * level of the version before, which must be able to run beside this one. Level 0: versions that did not register a
 * level.
 */
export const LEVEL_MIN = 1;

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
