// What can be measured: something that starts fresh, reports where it listens, and stops.

import type { Target } from "../go-driver.ts";
import type { DatabaseServers } from "./database-servers.ts";

export interface System {
  /** As the table and the option --systems name it. */
  readonly name: string;
  /** Starts it empty. Throws a NotHere if it is not installed on this machine. */
  start(surroundings: Surroundings): Promise<StartedSystem>;
}

export interface Surroundings {
  /** An empty directory on a disk, which the caller removes. */
  readonly directory: string;
  /** The databases of this round, each started on first use. */
  readonly databases: DatabaseServers;
}

export interface StartedSystem {
  /** The version that the system reports. */
  readonly version: string;
  readonly target: Target;
  /** Whether it is called by Rowlock's API, the only one that has semaphores and sessions. */
  readonly isRowlock?: boolean;
  /** Where it takes calls over HTTP. */
  readonly http?: string;
  /** Whether callers can wait in its queue. */
  readonly hasQueue?: boolean;
  /** The address of its metrics, for Rowlock only. */
  readonly metrics?: string;
  /** Its own processes; empty: callers use the database directly. */
  readonly pids: readonly number[];
  /** Whether it keeps its locks in a database server. */
  readonly hasDatabase?: boolean;
  /** How many consecutive bare transactions its database does per second. */
  bareTransactionsPerSecond?(seconds: number): Promise<number>;
  stop(): Promise<void>;
}

/** A system is not installed on this machine. */
export class NotHere extends Error {}
