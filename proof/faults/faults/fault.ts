import type { History } from "../history/history.ts";
import type { Acts } from "../house/database.ts";
import type { House } from "../house/house.ts";

export interface Fault {
  /** For people: what is done to what. */
  readonly name: string;
  /** What the house must have for it. */
  readonly needs:
    | "nothing"
    | "database server"
    | "several database servers"
    | MachinePart
    | "server clocks"
    | "client clocks"
    | keyof Acts;
  /** It loses what was acknowledged, so the checker's rules about that mean nothing: only for runs that name it. */
  readonly losesCommits?: true;
  /** Does it, and undoes it. Adds what the checker must know beside its name and times, such as what it loses for ever. */
  strike(house: House, chance: () => number, history: History): Promise<void>;
}

/** What a fault may do to the machine of the database. */
export type MachinePart = "disk" | "clock" | "flushes";

export const SHORT_MS = 3_000;
export const LONG_MS = 10_000;
