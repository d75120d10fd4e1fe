// Each view has room for what it is about, from the width of a phone to that of a large screen.

import { describe, expect, test } from "vitest";
import { processStage } from "../../process/stage.ts";
import { HAS_CHROMIUM } from "../../support/chromium.ts";
import { freshSqlite } from "../../support/database.ts";
import { lasting } from "../../support/lasting.ts";
import type { TestCalls } from "../../support/test-calls.ts";
import { visits } from "./visits.ts";

const WIDTHS = [360, 400, 560, 700, 701, 768, 900, 901, 1_100, 1_280, 1_920];
/** Each with its heading. */
const VIEWS = {
  "#/locks": "Locks",
  "#/lock/pipeline%2Fload-0001": "pipeline/load-0001",
  "#/limits": "Limits",
  "#/changes": "Changes",
  "#/activity": "Activity",
};
/** What the column of names has at least: 20 characters. */
const NAME_PX_MIN = 160;

const nameOf = (at: number) => `pipeline/load-${String(at).padStart(4, "0")}`;

/** So many locks, some with waiters, statuses, reasons and long names. */
async function fill(client: TestCalls, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => nameOf(at));
  for (let from = 0; from < count; from += 100)
    await client.call("capture", {
      from: { case: "names", value: { names: names.slice(from, from + 100) } },
      maxLeases: 100,
      terms: lasting("worker-17@batch-12.example"),
    });
  for (const name of names.slice(0, 5)) {
    await client.ticket({
      name,
      terms: lasting("nightly-report@batch-3.example"),
    });
    await client.call("updateRecord", { name, status: "waits for input" });
  }
  const reason = "The warehouse is being moved, and nobody may write to it until the end of the week.";
  await client.limit(nameOf(1), 0, { reason });
  await client.limitAll("pipeline/*", 3, { reason });
}

describe.skipIf(!HAS_CHROMIUM)("at each width", () => {
  const stage = processStage();
  const { visit } = visits();

  test.each([5, 500])("of %d locks, names have room, and nothing is wider than the window", async (count) => {
    const server = await stage.serving(await stage.database(freshSqlite), "--grace", "10m");
    await fill(server.client, count);
    const { page } = await visit(server);
    for (const [view, heading] of Object.entries(VIEWS)) {
      await page.evaluate(`location.hash = ${JSON.stringify(view)}`);
      await page.getByRole("heading", { level: 1, name: heading }).waitFor();
      await page
        .locator(view === "#/activity" ? ".chart" : "tbody tr")
        .first()
        .waitFor();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        // Charts follow the window a moment later.
        await expect
          .poll(() => page.evaluate<number>("document.documentElement.scrollWidth"), {
            message: `${view} at ${width}`,
            timeout: 30_000,
          })
          .toBeLessThanOrEqual(width);
        if (view !== "#/locks") continue;
        const measured = async () =>
          (await page.evaluate(`[
          document.querySelector("table.locks th")?.getBoundingClientRect().width ?? null,
          [...document.querySelectorAll("table.locks tr[data-at='0'] > td")].filter((cell) => cell.offsetWidth > 0)
            .map((cell) => cell.getBoundingClientRect().right),
        ]`)) as [number | null, number[]];
        // So does the list: it draws its rows anew.
        await expect
          .poll(async () => (await measured())[0], { message: `names at ${width}`, timeout: 30_000 })
          .toBeGreaterThanOrEqual(NAME_PX_MIN);
        const [, boxes] = await measured();
        // The cells reach the end of the table: no column is there that nobody sees.
        const edge = width > 1_320 ? width - (width - 1_320) / 2 - 20 : width - (width > 700 ? 20 : 12);
        expect(Math.abs((boxes.at(-1) ?? 0) - edge), `the last column at ${width}`).toBeLessThan(20);
      }
    }
  });
});
