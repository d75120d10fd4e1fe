// One round: starts all systems fresh, then does each work on all of them in turn, so that compared figures come from
// the same minute.

import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { cpuSeconds, databaseCpuSeconds } from "./cpu-time.ts";
import { drive } from "./go-driver.ts";
import type { Sample } from "./sample.ts";
import { meanBetween, scrape } from "./scrape.ts";
import { DatabaseServers } from "./systems/database-servers.ts";
import { NotHere, type StartedSystem, type System } from "./systems/system.ts";
import { BARE, DISTINCT_NAMES, type Work } from "./works.ts";

/** A server runs for weeks. One that has just started is slower, until its hot code and data are compiled or cached. */
const RUN_IN_WARM_UPS = 8;

export interface Plan {
  readonly systems: readonly System[];
  readonly works: readonly Work[];
  /** The compiled callers. */
  readonly driver: string;
  /** A directory on the disk to measure. */
  readonly directory: string;
  readonly warmUpS: number;
  readonly seconds: number;
}

export interface RoundOutcome {
  readonly samples: readonly Sample[];
  readonly versions: Readonly<Record<string, string>>;
  /** Why a system was not run, by its name. */
  readonly notRun: Readonly<Record<string, string>>;
}

export async function runRound(round: number, plan: Plan): Promise<RoundOutcome> {
  const directory = join(plan.directory, `round-${round}`);
  await mkdir(directory);
  const databases = new DatabaseServers(directory);
  const started = new Map<string, StartedSystem>();
  const notRun: Record<string, string> = {};
  try {
    for (const system of plan.systems) {
      const own = join(directory, system.name);
      await mkdir(own);
      try {
        started.set(system.name, await system.start({ directory: own, databases }));
      } catch (error) {
        if (!(error instanceof NotHere)) throw error;
        notRun[system.name] = error.message;
      }
    }
    const versions = Object.fromEntries([...started].map(([name, { version }]) => [name, version]));
    return { samples: await measure(round, plan, started), versions, notRun };
  } finally {
    await Promise.all([...started.values()].map((system) => system.stop()));
    await databases.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(
  round: number,
  plan: Plan,
  started: ReadonlyMap<string, StartedSystem>,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  const add = async (work: string, system: string, run: () => Promise<Outcome[]>) => {
    for (const { part, ...figures } of await run().catch(failed)) {
      const sample = { round, work: part ? `${work}, ${part}` : work, system, ...figures };
      console.error(JSON.stringify(sample));
      samples.push(sample);
    }
  };
  for (const [name, { bareTransactionsPerSecond: bare }] of started) {
    if (bare) await add(BARE, name, async () => [{ perSecond: await bare(plan.seconds) }]);
  }
  for (const [name, system] of started) {
    // A system that fails here is reported when it is measured.
    await drive(plan.driver, system.target, DISTINCT_NAMES, 0, plan.warmUpS * RUN_IN_WARM_UPS).catch(
      (error: Error) => console.error(`${name} was not run in: ${error.message}`),
    );
  }
  for (const work of plan.works) {
    for (const [name, system] of rotated([...started], round)) {
      const { needs } = work;
      const canDo = needs === "queue" ? system.hasQueue : needs !== "rowlock" || system.isRowlock;
      if (!canDo) samples.push({ round, work: work.label, system: name });
      else if ((system.isRowlock || !work.session) && (system.http || !work.over))
        await add(work.label, name, () => measureOnce(plan, system, work));
    }
  }
  return samples;
}

type Outcome = Omit<Sample, "round" | "work" | "system"> & { readonly part?: string };

/** A failed work leaves a hole in the table instead of ending the bench. */
const failed = (error: unknown): Outcome[] => [{ failure: (error as Error).message }];

/** Each round begins with another system, so that none always follows the same one. */
const rotated = <T>(list: readonly T[], by: number): T[] => {
  const first = by % Math.max(list.length, 1);
  return [...list.slice(first), ...list.slice(0, first)];
};

async function measureOnce(plan: Plan, system: StartedSystem, work: Work): Promise<Outcome[]> {
  const { metrics } = system;
  const target = targetOf(system, work);
  const before = metrics && (await scrape(metrics));
  const cpuBefore = await cpuOf(system);
  const outcomes = await drive(plan.driver, target, work.task, plan.warmUpS, plan.seconds);
  const cpuAfter = await cpuOf(system);
  const after = metrics && (await scrape(metrics));
  const [outcome] = outcomes;
  // What is counted by the processes cannot be divided among parts.
  if (!outcome || outcomes.length > 1) return outcomes;
  // The warm-up takes processor time too; it is assumed to make pairs at the same rate.
  const pairs = outcome.perSecond * (plan.seconds + plan.warmUpS);
  const us = (process: keyof CpuSeconds) => ((cpuAfter[process] - cpuBefore[process]) * 1e6) / pairs;
  const measured = {
    ...outcome,
    ...(system.pids.length > 0 && { serverUs: us("server") }),
    ...(system.hasDatabase && { databaseUs: us("database") }),
  };
  if (!before || !after) return [measured];
  const mean = (name: string) => meanBetween(before, after, name);
  const commandsPerTransaction = mean("rowlock_transaction_commands");
  const roundTripsPerTransaction = mean("rowlock_transaction_round_trips");
  return [{ ...measured, commandsPerTransaction, roundTripsPerTransaction }];
}

/** Where the calls of a work go. Throws if the system takes none of that kind: other calls would be measured in their name. */
export function targetOf(
  { target, http }: Pick<StartedSystem, "target" | "http">,
  { name, session, over }: Work,
): StartedSystem["target"] {
  if (over && http === undefined) throw new Error(`${name}: this server takes no calls over HTTP`);
  if (over) return { system: over, address: http as string };
  return session ? { ...target, system: "session" } : target;
}

interface CpuSeconds {
  readonly server: number;
  readonly database: number;
}

async function cpuOf({ pids }: StartedSystem): Promise<CpuSeconds> {
  return { server: await cpuSeconds(pids), database: await databaseCpuSeconds() };
}
