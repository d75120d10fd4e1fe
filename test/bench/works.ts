// What is done on each system, and how the table names it.

import type { Task } from "./go-driver.ts";

export interface Work {
  /** As the option --works names it. */
  readonly name: string;
  readonly label: string;
  readonly task: Task;
}

/** The calls of the unary works share so many connections. */
const CONNECTIONS = 4;

export const WORKS: readonly Work[] = [
  {
    name: "distinct-64",
    label: "64 callers, distinct names",
    task: { work: "distinct", callers: 64, connections: CONNECTIONS },
  },
  { name: "one", label: "one caller", task: { work: "distinct", callers: 1, connections: 1 } },
  ...[2, 16, 64, 256].map(
    (callers): Work => ({
      name: `hot-${callers}`,
      label: `${callers} callers, one hot name`,
      task: { work: "hot", callers, connections: Math.min(callers, CONNECTIONS) },
    }),
  ),
  {
    name: "semaphore-256",
    label: "256 callers, a semaphore of 10",
    task: { work: "semaphore", callers: 256, connections: CONNECTIONS },
  },
];

/** What the databases do by themselves, which needs no callers. */
export const BARE = "bare transactions, one after the other";
