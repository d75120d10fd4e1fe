// What can be measured: something that starts fresh, says where it listens, and stops.

import type { Target } from "../go-driver.ts";
import type { DatabaseServers } from "./database-servers.ts";

export interface System {
  /** As the table and the option --systems name it. */
  readonly name: string;
  /** Starts it with nothing in it. Throws a NotHere where this machine does not have it. */
  start(surroundings: Surroundings): Promise<StartedSystem>;
}

export interface Surroundings {
  /** An empty directory on a disk, which the caller removes. */
  readonly directory: string;
  /** Those of this round, which are started when one is asked for. */
  readonly databases: DatabaseServers;
}

export interface StartedSystem {
  /** What was started, as it names itself. */
  readonly version: string;
  readonly target: Target;
  /** Whether it is called by Rowlock's API, the only one that has semaphores and sessions. */
  readonly isRowlock?: boolean;
  /** Whether that lets callers wait in a queue. */
  readonly hasQueue?: boolean;
  /** Where it tells its metrics, for Rowlock alone. */
  readonly metrics?: string;
  /** How many bare transactions its database does in a second, one after the other. */
  bareTransactionsPerSecond?(seconds: number): Promise<number>;
  stop(): Promise<void>;
}

/** What has to be installed for a system is not on this machine. */
export class NotHere extends Error {}
