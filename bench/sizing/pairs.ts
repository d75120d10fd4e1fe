// What a pair of Acquire and Release costs: processor time of the server and of the database, bytes written, bytes of
// the binary log, and connections, at a low and even rate and as fast as callers can.

import { cpuSeconds } from "../cpu-time.ts";
import { serve } from "../systems/rowlock.ts";
import { busyPairs, type Callers, distinctName, hotName, pacedPairs, sessionsAt } from "./callers.ts";
import { type SizedDatabase, writtenBytes } from "./sized-database.ts";

const WARM_UP_S = 3;

export interface PairCost {
  readonly load: string;
  readonly perSecond: number;
  /** Seconds of processor time for 1,000 pairs. */
  readonly serverS: number;
  readonly databaseS: number;
  /** Of a pair. */
  readonly writtenBytes: number;
  readonly binlogBytes: number | undefined;
  readonly connections: number | undefined;
}

interface Load {
  readonly name: string;
  readonly sessions: number;
  readonly run: (callers: Callers, seconds: number) => Promise<number>;
}

const LOADS: readonly Load[] = [
  ...[100, 1_000].map(
    (rate): Load => ({
      name: `${rate.toLocaleString("en")} a second, evenly`,
      sessions: 4,
      run: (callers, seconds) => pacedPairs(callers, rate, seconds),
    }),
  ),
  {
    name: "64 callers without a pause, one session",
    sessions: 1,
    run: (callers, seconds) => busyPairs(callers, 64, seconds, distinctName),
  },
  {
    name: "256 callers without a pause, four sessions",
    sessions: 4,
    run: (callers, seconds) => busyPairs(callers, 256, seconds, distinctName),
  },
  {
    name: "64 callers without a pause, one hot lock",
    sessions: 4,
    run: (callers, seconds) => busyPairs(callers, 64, seconds, hotName),
  },
];

/** One round of all loads. */
export async function pairCosts(database: SizedDatabase, seconds: number): Promise<PairCost[]> {
  const server = await serve(database.url, database.folder);
  const used = async () => {
    const databasePids = await database.pids();
    return {
      serverS: await cpuSeconds(server.pids),
      databaseS: await cpuSeconds(databasePids),
      written: await writtenBytes([...server.pids, ...databasePids]),
      binlog: await database.binlogBytes(),
    };
  };
  const costs: PairCost[] = [];
  try {
    for (const { name, sessions, run } of LOADS) {
      const callers = sessionsAt(server.target.address, sessions);
      try {
        await run(callers, WARM_UP_S);
        const [before, beganMs] = [await used(), performance.now()];
        const pairs = await run(callers, seconds);
        const connections = await database.connections();
        const [after, tookMs] = [await used(), performance.now() - beganMs];
        costs.push({
          load: name,
          perSecond: (pairs * 1_000) / tookMs,
          serverS: ((after.serverS - before.serverS) * 1_000) / pairs,
          databaseS: ((after.databaseS - before.databaseS) * 1_000) / pairs,
          writtenBytes: (after.written - before.written) / pairs,
          binlogBytes:
            after.binlog === undefined || before.binlog === undefined
              ? undefined
              : (after.binlog - before.binlog) / pairs,
          connections,
        });
      } finally {
        callers.close();
      }
    }
  } finally {
    await server.stop();
  }
  return costs;
}

export interface IdleCost {
  readonly serverCores: number;
  readonly databaseCores: number;
  readonly binlogBytesPerHour: number | undefined;
}

/** What a server without clients costs. */
export async function idleCost(database: SizedDatabase, seconds: number): Promise<IdleCost> {
  const server = await serve(database.url, database.folder);
  try {
    await pause(WARM_UP_S);
    const databasePids = await database.pids();
    const used = async () =>
      [
        await cpuSeconds(server.pids),
        await cpuSeconds(databasePids),
        (await database.binlogBytes()) ?? Number.NaN,
      ] as const;
    const before = await used();
    await pause(seconds);
    const after = await used();
    const binlog = ((after[2] - before[2]) * 3_600) / seconds;
    return {
      serverCores: (after[0] - before[0]) / seconds,
      databaseCores: (after[1] - before[1]) / seconds,
      binlogBytesPerHour: Number.isNaN(binlog) ? undefined : binlog,
    };
  } finally {
    await server.stop();
  }
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
