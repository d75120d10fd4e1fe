// What a step of a run is: what a client does, or what fails.

import type { Mode, Rate } from "../faults/history/history.ts";

/** `hand`: who does it, `atMs`: not before. */
export interface OfClient {
  readonly hand: number;
  readonly atMs: number;
}

/** A lock, and what is wanted of it. */
export interface Wanted {
  readonly lock: string;
  readonly mode: Mode;
  readonly permits: number;
}

export interface Hold extends OfClient, Wanted {
  readonly do: "hold";
  /** Further locks, of which it wants all or none; unset: none. */
  readonly also?: readonly Wanted[];
  readonly ttlMs: number;
  /** 0: a try. */
  readonly waitMs: number;
  readonly holdMs: number;
  /** When the client gives its first try up, to ask again at another server; unset: it is patient. */
  readonly firstMs?: number;
  /** The group whose share it is, where shares may be fair. */
  readonly group?: string;
}
export interface Count extends OfClient {
  readonly do: "count";
  readonly lock: string;
}
export interface SetLimit extends OfClient {
  readonly do: "limit";
  readonly lock: string;
  readonly limit: number;
}
/** Sets the rate of a name or a pattern; null removes it. */
export interface SetRate extends OfClient {
  readonly do: "rate";
  readonly target: string;
  readonly rate: Rate | null;
}
/** Sets a pool; null for both removes it. */
export interface SetPool extends OfClient {
  readonly do: "pool";
  readonly target: string;
  readonly limit: number | null;
  readonly rate: Rate | null;
}
export interface Spend extends OfClient {
  readonly do: "spend";
  readonly lock: string;
  readonly permits: number;
  /** 0: a try. */
  readonly waitMs: number;
  /** Whether it waits in a stream of places. */
  readonly isStreamed: boolean;
  /** It sends its request twice at once. */
  readonly isDoubled: boolean;
  /** When it asks once more after each answer. */
  readonly againMs: readonly number[];
  /** As in Hold. */
  readonly firstMs?: number;
}
export interface Rules {
  readonly waitingMax?: number;
  readonly isNewest?: true;
  readonly shareBy?: string;
}
/** Sets the queue rules of a name; null removes them. */
export interface SetRules extends OfClient {
  readonly do: "rules";
  readonly lock: string;
  readonly rules: Rules | null;
}
/** Ends all leases of a lock. */
export interface Force extends OfClient {
  readonly do: "force";
  readonly lock: string;
}
/** Deletes a counter. */
export interface Erase extends OfClient {
  readonly do: "erase";
}
/** `restMs`: the task must not be taken before. */
export interface Make extends OfClient {
  readonly do: "make";
  readonly task: string;
  readonly attempts: number;
  readonly restMs: number;
}
export interface Work extends OfClient {
  readonly do: "work";
  readonly waitMs: number;
  readonly workMs: number;
  readonly max: number;
  /** 0: the task is done; otherwise it is put off for so long. */
  readonly restMs: number;
  /** As in Hold. */
  readonly firstMs?: number;
}
export type ClientStep =
  | Hold
  | Spend
  | Count
  | SetLimit
  | SetRate
  | SetPool
  | SetRules
  | Force
  | Erase
  | Make
  | Work;

/** `forMs`: until it is mended. */
export interface Fault {
  readonly do: "fault";
  readonly fault: FaultKind;
  readonly atMs: number;
  readonly forMs: number;
  /** Whom it strikes, as far as there is a choice. */
  readonly client: number;
  readonly server: number;
  /** How bad, from 0 to 1. */
  readonly force: number;
}

export const FAULTS = [
  "a server crashes",
  "a server is frozen",
  "a server is drained",
  "a client is killed",
  "a client is frozen",
  "a line is cut",
  "a line is silent",
  "calls are lost",
  "the network is slow",
  "the database is away",
  "the database is slow",
  "COMMITs do not arrive",
  "answers of COMMITs are lost",
  "COMMITs come late",
  "deadlocks",
  "somebody holds a guard row",
  "somebody holds the row of facts",
  "pokes are lost",
  "the database's clock is set",
  "a copy that lags is promoted",
] as const;
export type FaultKind = (typeof FAULTS)[number];
export const PROMOTED: FaultKind = "a copy that lags is promoted";
export const CLOCK_SET: FaultKind = "the database's clock is set";

export type Step = ClientStep | Fault;
