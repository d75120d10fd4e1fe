// All states of the small worlds, and the faults that must be found in them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withFault } from "../exploration/planted.ts";
import { explore } from "./explore.ts";
import { PLANTED } from "./planted.ts";
import { SMALL } from "./worlds.ts";

const STATES_MAX = 20_000;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rowlock-pools-"));
});

afterAll(() => rm(directory, { recursive: true }));

test.each(SMALL)("keeps all promises: $name", (world) => {
  expect(explore(world, STATES_MAX).broken).toBeNull();
});

test.each(PLANTED)("a design that $fault is found", async (planted) => {
  const apart = join(directory, String(PLANTED.indexOf(planted)));
  const faulty = await withFault<typeof import("./explore.ts")>(apart, import.meta.dirname, planted);
  const world = SMALL.find(({ name }) => name.includes(planted.world));
  const found = world && faulty.explore(world, STATES_MAX).broken;
  expect(found?.promise).toContain(planted.breaks);
});
