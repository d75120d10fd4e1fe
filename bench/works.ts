// The works that are done on each system, and their names in the table.

import type { Task } from "./go-driver.ts";

export interface Work {
  /** As the option --works names it. */
  readonly name: string;
  readonly label: string;
  readonly task: Task;
  /** Only for systems called by Rowlock's API, or only for those of them whose callers can wait in a queue. */
  readonly needs?: "rowlock" | "queue";
  /** All calls go over sessions. `beside` names the unary work from which etcd's figure is taken. */
  readonly session?: { readonly beside?: string };
  /** All calls go over HTTP, in JSON or in binary. */
  readonly over?: "http-json" | "http-binary";
}

/** The calls of the unary works share these connections. */
const CONNECTIONS = 4;

/** Streams of the crowd on one connection; a server allows 1,000 waits on one. */
const STREAMS_OF_A_CONNECTION = 900;

export const DISTINCT_NAMES: Task = { work: "distinct", callers: 64, connections: CONNECTIONS };

export const WORKS: readonly Work[] = [
  {
    name: "distinct-64",
    label: "64 callers, distinct names",
    task: DISTINCT_NAMES,
  },
  { name: "one", label: "one caller", task: { work: "distinct", callers: 1, connections: 1 } },
  ...[2, 16, 64, 256].map(
    (callers): Work => ({
      name: `hot-${callers}`,
      label: `${callers} callers, one hot name`,
      task: { work: "hot", callers, connections: Math.min(callers, CONNECTIONS) },
    }),
  ),
  ...[10, 1_000].map(
    (limit): Work => ({
      name: `semaphore-${limit}`,
      label: `256 callers, a semaphore of ${limit.toLocaleString("en")}`,
      task: { work: "semaphore", callers: 256, connections: CONNECTIONS, limit },
      needs: "rowlock",
    }),
  ),
  {
    name: "hand-over",
    label: "from a release to the grant elsewhere",
    task: { work: "hand-over", callers: 2, connections: 2 },
    needs: "queue",
  },
  {
    name: "died",
    label: "from the end of a dead holder's lease to the grant, 50 names",
    task: { work: "died", callers: 50, connections: 2 },
    needs: "queue",
  },
  ...(["json", "binary"] as const).map(
    (kind): Work => ({
      name: `http-${kind}-64`,
      label: `64 callers over HTTP in ${kind === "json" ? "JSON" : "binary"}, distinct names`,
      task: { ...DISTINCT_NAMES, connections: DISTINCT_NAMES.callers },
      over: `http-${kind}`,
    }),
  ),
  {
    name: "session-64",
    label: "one session, 64 callers, distinct names",
    task: { work: "distinct", callers: 64, connections: 1 },
    session: { beside: "distinct-64" },
  },
  {
    name: "session-256",
    label: "four sessions, 256 callers, distinct names",
    task: { work: "distinct", callers: 256, connections: 4 },
    session: {},
  },
  {
    name: "session-one",
    label: "one session, one caller",
    task: { work: "distinct", callers: 1, connections: 1 },
    session: { beside: "one" },
  },
  {
    name: "session-hot-64",
    label: "one session, 64 callers, one hot name",
    task: { work: "hot", callers: 64, connections: 1 },
    session: { beside: "hot-64" },
  },
  {
    name: "session-waits",
    label: "one session, 1,500 waits",
    task: { work: "waits", callers: 1_500, connections: 1 },
    session: {},
  },
  ...[100, 9_900].map(
    (callers): Work => ({
      name: `crowd-${callers}`,
      label: `one hot name, ${callers.toLocaleString("en")} streams that wait`,
      task: { work: "crowd", callers, connections: Math.ceil(callers / STREAMS_OF_A_CONNECTION) },
      needs: "queue",
    }),
  ),
];

/** For comparisons with pools, and with one lock: see paired.ts. */
export const WORKS_TO_COMPARE: readonly Work[] = [
  ...[2, 8].flatMap((locks): Work[] => [
    {
      name: `set-${locks}`,
      label: `64 callers, ${locks} locks each`,
      task: { work: "distinct", callers: 64, connections: CONNECTIONS, "claim-locks": locks },
      needs: "rowlock",
    },
    {
      name: `session-set-${locks}`,
      label: `one session, 64 callers, ${locks} locks each`,
      task: { work: "distinct", callers: 64, connections: 1, "claim-locks": locks },
      session: {},
      needs: "rowlock",
    },
  ]),
  {
    name: "distinct-100",
    label: "100 callers, distinct names",
    task: { work: "distinct", callers: 100, connections: CONNECTIONS },
  },
  {
    name: "semaphore-50",
    label: "100 callers, a semaphore of 50",
    task: { work: "semaphore", callers: 100, connections: CONNECTIONS, limit: 50 },
    needs: "rowlock",
  },
];

/**
 * The label of the work that etcd does instead of this one: itself unless it uses sessions; undefined if there is none.
 */
export function etcdCounterpart(label: string): string | undefined {
  const session = WORKS.find((work) => work.label === label)?.session;
  return session ? WORKS.find(({ name }) => name === session.beside)?.label : label;
}

/** What the databases do alone, without callers. */
export const BARE = "bare transactions, one after the other";
