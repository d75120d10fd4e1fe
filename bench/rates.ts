// How exactly a rate is kept: as many callers as want to, on one name whose rate they exceed, and what share of the allowed
// permits they got. A share above 1 would be a broken promise. Takes two minutes for each system.
//
//   npm run bench:rates -- [--systems rowlock-sqlite,rowlock-mariadb] [--seconds 20]

import { rm } from "node:fs/promises";
import { parseArgs } from "node:util";
import { TestCalls } from "../test/support/test-calls.ts";
import { makeCacheFolder } from "./cache-folder.ts";
import { DatabaseServers } from "./systems/database-servers.ts";
import { SYSTEMS } from "./systems/systems.ts";

const CALLERS = 64;
const WAIT = { case: "wait", value: {} } as const;

interface Work {
  readonly name: string;
  readonly perSecond: number;
  readonly burst: number;
  /** Whether each grant is a lease, which its caller releases, or a spend. */
  readonly leases?: true;
}

const WORKS: readonly Work[] = [
  { name: "spends", perSecond: 1_000, burst: 1_000 },
  { name: "spends, burst 10", perSecond: 1_000, burst: 10 },
  { name: "spends", perSecond: 100, burst: 10 },
  { name: "spends, burst 1", perSecond: 100, burst: 1 },
  { name: "leases", perSecond: 100, burst: 10, leases: true },
];

const { values: options } = parseArgs({
  options: {
    systems: { type: "string", default: "rowlock-sqlite,rowlock-mariadb" },
    seconds: { type: "string", default: "20" },
  },
});

for (const name of options.systems.split(",")) {
  const system = SYSTEMS.find((one) => one.name === name);
  if (!system) throw new Error(`There is no system ${name}.`);
  const directory = makeCacheFolder("rowlock-bench-");
  const databases = new DatabaseServers(directory);
  const started = await system.start({ directory, databases });
  const calls = new TestCalls(started.target.address);
  try {
    // A server that has just started is slower.
    await run(calls, { name: "warm-up", perSecond: 1_000, burst: 1_000 }, 3, "warm-up");
    for (const [index, work] of WORKS.entries()) {
      const { permits, spanS } = await run(calls, work, Number(options.seconds), `rated-${index}`);
      const share = permits / (work.burst + work.perSecond * spanS);
      console.log(
        `${name} ${work.name}, ${work.perSecond}/s: ${permits} in ${spanS.toFixed(2)} s, ${share.toFixed(4)} of what is allowed`,
      );
    }
  } finally {
    calls.close();
    await started.stop();
    await databases.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Counts by the database's clock: from the first grant to the last one. */
async function run(calls: TestCalls, { perSecond, burst, leases }: Work, seconds: number, name: string) {
  await calls.call("setLimit", {
    target: { case: "name", value: name },
    newLimit: { case: "limit", value: CALLERS },
    newRate: { case: "rate", value: { permits: perSecond, per: { seconds: 1n }, burst } },
  });
  const times: number[] = [];
  const endMs = performance.now() + seconds * 1_000;
  const grant = async () => {
    const { outcome } = await calls.call("acquire", { name, spendOnly: !leases, whenBusy: WAIT });
    if (outcome.case === "spent") return outcome.value.spentAt;
    if (outcome.case !== "lease") throw new Error(`Neither a lease nor a spend, but ${outcome.case}.`);
    await calls.call("release", { leaseId: outcome.value.leaseId });
    return outcome.value.grantedAt;
  };
  const caller = async () => {
    while (performance.now() < endMs) {
      const at = await grant();
      times.push(Number(at?.seconds) + (at?.nanos ?? 0) / 1e9);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return { permits: times.length, spanS: Math.max(...times) - Math.min(...times) };
}
