import type { House } from "../house/house.ts";

export interface Fault {
  /** For people: what is done to what. */
  readonly name: string;
  /** What the house must have for it. */
  readonly needs: "nothing" | "database server";
  /** Does it, and undoes it. */
  strike(house: House, chance: () => number): Promise<void>;
}

export const SHORT_MS = 3_000;
export const LONG_MS = 10_000;
