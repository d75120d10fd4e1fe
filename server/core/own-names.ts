// Names of locks that the servers use themselves. No client can name one, and no listing without a prefix shows one.

/** Prefix of the servers' own names. Callers' names must not begin with it. */
export const OWN_NAMES_PREFIX = "\0";

export function isOwnName(name: string): boolean {
  return name.startsWith(OWN_NAMES_PREFIX);
}

/**
 * The lock by which a replica proves that decisions get through. Each replica has its own, so that none waits for
 * another.
 */
export function probeName(replica: bigint): string {
  return `${OWN_NAMES_PREFIX}ready/${replica}`;
}
