// Once per run: chooses the seed, creates a folder for shared files, finds or starts the database servers, and at the
// end stops those it started.
import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { chosenDatabases } from "./chosen-databases.ts";
import { findServers } from "./find-servers.ts";
import type { RunningServer } from "./private-server.ts";

const SEED_MAX = 2 ** 31;

let running: readonly RunningServer[] = [];
let scratch = "";

export async function setup(project: TestProject): Promise<void> {
  const seed = seedFrom(process.env.ROWLOCK_TEST_SEED);
  console.error(`seed ${seed} (ROWLOCK_TEST_SEED=${seed} repeats it)`);

  const chosen = chosenDatabases(process.env.ROWLOCK_TEST_DATABASES);
  running = chosen.flavours.size > 0 ? await findServers(chosen, process.env) : [];
  const servers = running.map(({ server }) => server);
  const names = [...(chosen.sqlite ? ["sqlite"] : []), ...servers.map((s) => `${s.flavour} ${s.version}`)];
  console.error(`databases: ${names.join(", ")}`);

  scratch = mkdtempSync(join(tmpdir(), "rowlock-run-"));
  project.provide("scratch", scratch);
  project.provide("seed", seed);
  project.provide("sqlite", chosen.sqlite);
  project.provide("galera", chosen.galera);
  project.provide("mysqlFamily", servers);
}

export async function teardown(): Promise<void> {
  await Promise.all(running.map((server) => server.stop()));
  rmSync(scratch, { recursive: true, force: true });
}

function seedFrom(setting: string | undefined): number {
  if (setting === undefined || setting === "") return randomInt(SEED_MAX);
  const seed = Number(setting);
  if (!Number.isInteger(seed)) throw new Error(`ROWLOCK_TEST_SEED is no integer: ${setting}`);
  return seed;
}
