// A server that goes away, hangs or comes back, as the page shows it.

import { describe, expect, test } from "vitest";
import { screenOf } from "../../process/server-process.ts";
import { processStage } from "../../process/stage.ts";
import { HAS_CHROMIUM } from "../../support/chromium.ts";
import { freshSqlite } from "../../support/database.ts";
import { lasting } from "../../support/lasting.ts";
import { TestCalls } from "../../support/test-calls.ts";
import { freePort, visits } from "./visits.ts";

describe.skipIf(!HAS_CHROMIUM)("a page whose server", () => {
  const stage = processStage();
  const { visit } = visits();

  /** Starts servers over one database, each at the same address. */
  async function address() {
    const database = await stage.database(freshSqlite);
    const port = await freePort();
    const args = ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", `127.0.0.1:${port}`];
    return async () => {
      const server = await screenOf(stage.rowlock([...args, "--database-url", database]));
      const client = new TestCalls(server.grpcAddress);
      stage.afterwards(() => client.close());
      return { ...server, client };
    };
  }

  test("was killed says so within a second, keeps what it had, and is live again by itself", async () => {
    const start = await address();
    const first = await start();
    await first.client.lease({
      name: "etl/load",
      terms: lasting("anna"),
    });
    const { page } = await visit(first, "", { isAbsenceExpected: true });
    const { page: limits } = await visit(first, "#/limits", { isAbsenceExpected: true });
    await page.getByText("anna").waitFor();
    await limits.getByText("No limit and no rate is set").waitFor();

    const killedMs = performance.now();
    first.process.kill("SIGKILL");
    const away = "The server has not answered since";
    const [listMs, limitsMs] = await Promise.all(
      [page, limits].map(async (each) => {
        await each.getByText(away).waitFor();
        return performance.now() - killedMs;
      }),
    );
    console.log(
      `said after ${Math.round(listMs as number)} ms on the list, ${Math.round(limitsMs as number)} ms elsewhere`,
    );
    // A second, and what a busy machine adds to it.
    expect(Math.min(listMs as number, limitsMs as number)).toBeLessThan(2_000);
    expect(await page.getByText("anna").count()).toBe(1);

    await first.process.exited;
    const second = await start();
    await page.getByText(away).waitFor({ state: "detached" });
    await limits.getByText(away).waitFor({ state: "detached" });
    await second.client.lease({
      name: "report/daily",
      terms: lasting("ben"),
    });
    await page.getByText("ben").waitFor();
    expect(await page.getByText("anna").count()).toBe(1);
  });

  test("is frozen says so, and goes on when it is not", async () => {
    const start = await address();
    const server = await start();
    await server.client.lease({
      name: "etl/load",
      terms: lasting("anna"),
    });
    const { page } = await visit(server, "#/lock/etl%2Fload", { isAbsenceExpected: true });
    await page.getByText("anna").first().waitFor();
    server.process.kill("SIGSTOP");
    await page.getByText("The server has not answered since").waitFor();
    server.process.kill("SIGCONT");
    await page.getByText("The server has not answered since").waitFor({ state: "detached" });
    await server.client.ticket({ name: "etl/load", terms: { owner: "ben" } });
    await page.getByRole("heading", { name: "Queue 1" }).waitFor();
    expect(await page.locator("section:has(#queue) tbody tr").count()).toBe(1);
  });
});
