// The number of time series of a server: each costs memory in Prometheus.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Mode } from "#proto/rowlock/v1/lock_pb.js";
import { testDatabases } from "../support/database.ts";
import { comeBack } from "../support/test-calls.ts";
import type { ServingServer } from "./stage.ts";
import { processStage } from "./stage.ts";

/** At most this many series of a server without classes; each class of names adds at most the number below. */
const SERIES_MAX = 1_200;
const SERIES_PER_CLASS_MAX = 100;

/** Time for two servers and a hundred sequential calls, on a machine that also runs other tests. */
const LONG_MS = 120_000;

const stage = processStage();

test("the document states the largest number of series", () => {
  const operations = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  expect(operations).toContain(
    `A server has at most ${SERIES_MAX.toLocaleString("en-US")} time series, and each class adds up to ${SERIES_PER_CLASS_MAX}.`,
  );
});

test.each(testDatabases())(
  "a server on $label has as many series as documented",
  { timeout: LONG_MS },
  async ({ fresh }) => {
    const plain = await stage.serving(await stage.database(fresh));
    await useOfAllKinds(plain, "l");
    expect(await seriesOf(plain)).toBeLessThanOrEqual(SERIES_MAX);

    const classes = ["a", "b", "c"];
    const sorted = await stage.serving(await stage.database(fresh), "--metrics-classes", classes.join(","));
    for (const name of ["l", ...classes]) await useOfAllKinds(sorted, name);
    // Counted by label, because series that background work adds belong to no class.
    for (const name of classes) {
      const series = await seriesOf(sorted, `class="${name}"`);
      expect(series).toBeGreaterThan(0);
      expect(series).toBeLessThanOrEqual(SERIES_PER_CLASS_MAX);
    }
  },
);

/** Uses every verb, mode and usual outcome. */
async function useOfAllKinds({ client }: ServingServer, name: string): Promise<void> {
  for (const mode of [Mode.EXCLUSIVE, Mode.SHARED, Mode.PERMIT]) {
    const request = { name, mode, requestId: `${name} ${mode}` };
    const { leaseId } = await client.lease(request);
    await client.lease(request);
    await client.refusal({ name, mode: Mode.EXCLUSIVE });
    await client.call("renew", { leaseId });
    const { ticketId } = await client.ticket({ name, mode: Mode.EXCLUSIVE });
    const stream = client.wait(comeBack(ticketId));
    await stream.position();
    await client.call("release", { leaseId });
    await stream.granted();
    await client.call("renew", { leaseId }).catch(() => {});
    await client.force(name, "test");
    await client.refusal({ name, mode: Mode.PERMIT, permits: 2 });
  }
  await client.limit(name, 2);
  await client.limitAll(`${name}*`, 2);
  await client.call("getLock", { name });
  await client.call("listLocks", {});
  await client.call("listClaims", { locks: { case: "lockName", value: name } });
  await client.call("listClaims", {});
  await client.call("listChanges", { locks: { case: "lockName", value: name } });
  await client.call("explainWait", { target: { case: "name", value: name } });
}

async function seriesOf({ metricsUrl }: ServingServer, label = ""): Promise<number> {
  const text = await (await fetch(`${metricsUrl}/metrics`)).text();
  const lines = text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#") && line.includes(label));
  return lines.length;
}
