// Numbers from a seed. Each part of a run has a source of its own, so that one part draws the same numbers whatever the
// others do.

import { type Chance, chanceFrom } from "../../../test/support/faulty-store.ts";

export type { Chance } from "../../../test/support/faulty-store.ts";

/** The source of the part with this name. */
export function chanceOf(seed: number, part: string): Chance {
  let hash = (seed ^ 0x811c9dc5) >>> 0;
  for (let index = 0; index < part.length; index++)
    hash = Math.imul(hash ^ part.charCodeAt(index), 0x01000193) >>> 0;
  return chanceFrom(hash);
}

export function between(chance: Chance, least: number, most: number): number {
  return least + chance() * (most - least);
}

export function oneOf<One>(choice: readonly One[], chance: Chance): One {
  return choice[Math.floor(chance() * choice.length)] as One;
}

export function fill(bytes: Uint8Array, chance: Chance): void {
  for (let index = 0; index < bytes.length; index++) bytes[index] = Math.floor(chance() * 256);
}
