// What the page shows is from now, however much changes and however many locks there are.

import { describe, expect, test } from "vitest";
import { processStage } from "../../process/stage.ts";
import { HAS_CHROMIUM } from "../../support/chromium.ts";
import { freshSqlite } from "../../support/database.ts";
import { lasting } from "../../support/lasting.ts";
import { leastMs } from "../../support/least.ts";
import type { TestCalls } from "../../support/test-calls.ts";
import { visits } from "./visits.ts";

/** What one Capture takes at most. */
const CAPTURED_MAX = 100;

/** Takes all these locks, in few calls. */
async function capture(client: TestCalls, names: readonly string[]): Promise<void> {
  let from = 0;
  const rounds = async () => {
    while (from < names.length) {
      const some = names.slice(from, from + CAPTURED_MAX);
      const owner = `worker-${from / CAPTURED_MAX}`;
      from += CAPTURED_MAX;
      const { leases } = await client.call("capture", {
        from: { case: "names", value: { names: some } },
        maxLeases: some.length,
        terms: lasting(owner),
      });
      expect(leases).toHaveLength(some.length);
    }
  };
  await Promise.all([rounds(), rounds(), rounds(), rounds()]);
}

const namesUnder = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}${String(at).padStart(5, "0")}`);

const held = (client: TestCalls, name: string, owner = "anna") =>
  client.lease({ name, terms: lasting(owner) });

describe.skipIf(!HAS_CHROMIUM)("the list of locks", () => {
  const stage = processStage();
  const { visit } = visits();
  const started = async () => stage.serving(await stage.database(freshSqlite), "--grace", "10m");

  test("shows a hand-over within a second, in the list and on the lock's own page", async () => {
    const server = await started();
    const { client } = server;
    const { page: list } = await visit(server);
    // The page may ask why a waiter waits that was granted a moment ago: the server refuses that.
    const { page: lock } = await visit(server, "#/lock/etl%2Fload", { isRefusalExpected: true });
    let { leaseId } = await held(client, "etl/load", "holder-0");
    let round = 0;
    const handOver = async () => {
      const { ticketId } = await client.ticket({
        name: "etl/load",
        terms: lasting(`holder-${++round}`),
      });
      await list.locator("td.c-waiting", { hasText: "1" }).waitFor();
      await lock.getByRole("heading", { name: "Queue 1" }).waitFor();
      const startMs = performance.now();
      await client.call("release", { leaseId });
      await Promise.all([
        list.locator("td.c-who", { hasText: `holder-${round}` }).waitFor(),
        lock.locator("section:has(#holders) td", { hasText: `holder-${round}` }).waitFor(),
      ]);
      leaseId = ticketId;
      await client.call("renew", { leaseId });
      return performance.now() - startMs;
    };
    const tookMs: number[] = [];
    await leastMs(5, async () => tookMs.push(await handOver()));
    expect(Math.min(...tookMs)).toBeLessThan(1_000);
  });

  test("does not freeze under a thousand changes a second, and ends up right", async () => {
    const server = await started();
    const { client } = server;
    const names = namesUnder("hot/", 1_500);
    await capture(client, names);
    const { page, processorMs } = await visit(server, "#/locks?order=name");
    await page.getByText("1,500 busy locks, 0 waiters").first().waitFor();
    await page.evaluate(`
      window.longTasks = [];
      new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask" });
      window.changes = 0;
      const parse = JSON.parse;
      JSON.parse = (text) => {
        const value = parse(text);
        window.changes += value.locks?.length ?? 0;
        return value;
      };
      window.keysMs = [];
      // From each key to the frame that shows it.
      window.typing = setInterval(() => {
        const startMs = performance.now();
        const input = document.querySelector("input[type=search]");
        input.value = input.value === "" ? "hot/00" : "";
        input.dispatchEvent(new InputEvent("input", { bubbles: true }));
        requestAnimationFrame(() => setTimeout(() => keysMs.push(performance.now() - startMs)));
      }, 250);
    `);
    const [startMs, startedAt] = [performance.now(), await processorMs()];
    let changes = 0;
    // Each change of the pattern changes all locks under it.
    for (let limit = 2; changes < 6_000; limit++) {
      await client.limitAll("hot/*", limit);
      changes = Number(await page.evaluate("changes"));
    }
    const tookS = (performance.now() - startMs) / 1_000;
    const usedMs = (await processorMs()) - startedAt;
    await page.evaluate("clearInterval(typing)");
    const keysMs = ((await page.evaluate("keysMs")) as number[]).sort((a, b) => a - b);
    const longest = Math.max(0, ...((await page.evaluate("longTasks")) as number[]));
    const middle = keysMs[Math.floor(keysMs.length / 2)] as number;
    console.log(
      `${changes} changes, ${Math.round(changes / tookS)}/s, ${((usedMs * 1_000) / changes).toFixed(0)} us of processor ` +
        `each with all drawing; ${keysMs.length} inputs, median ${Math.round(middle)} ms to the next frame, most ` +
        `${Math.round(keysMs.at(-1) as number)} ms; longest task ${Math.round(longest)} ms`,
    );
    // A thousand changes a second take less than a half of one processor, however busy the machine is.
    expect(usedMs / changes).toBeLessThan(0.5);
    // A page that drew each change by itself would have tasks of many seconds on a busy machine.
    expect(longest).toBeLessThan(3_000);
    expect(middle).toBeLessThan(2_000);

    await page.getByRole("searchbox", { name: "Names that begin with" }).fill("");
    await client.limitAll("hot/*", 777);
    await page
      .locator("tr", { hasText: names[0] as string })
      .getByText("1 / 777")
      .waitFor();
  });

  test("shows 10,000 locks with the rows of one screen, and goes through them by keys", async () => {
    const server = await started();
    const names = namesUnder("many/", 10_000);
    await capture(server.client, names);
    const { page, processorMs } = await visit(server, "#/locks?order=name");
    await page.getByText("10,000 busy locks, 0 waiters").first().waitFor();
    const rows = page.locator("tr[data-at]");
    expect(await rows.count()).toBeLessThan(100);
    expect(await page.getByRole("table").getAttribute("aria-rowcount")).toBe("10001");

    await page.getByRole("link", { name: names[0] as string, exact: true }).focus();
    const focused = (name: string | undefined) =>
      page.locator("a:focus", { hasText: name as string }).waitFor();
    await page.keyboard.press("ArrowDown");
    await focused(names[1]);
    await page.keyboard.press("End");
    await focused(names.at(-1));
    expect(await rows.last().getAttribute("aria-rowindex")).toBe("10001");
    await page.keyboard.press("ArrowUp");
    await focused(names.at(-2));
    await page.keyboard.press("Home");
    await focused(names[0]);

    await page.evaluate("scrollTo(0, document.body.scrollHeight / 2)");
    await page.getByRole("link", { name: names[5_000] as string, exact: true }).waitFor();
    expect(await rows.count()).toBeLessThan(100);

    const search = page.getByRole("searchbox", { name: "Names that begin with" });
    await search.fill("many/0999");
    await page.getByText("10 busy locks, 0 waiters").first().waitFor();
    expect(page.url()).toContain("prefix=many%2F0999");
    const startedAt = await processorMs();
    await search.fill("");
    await page.getByText("10,000 busy locks, 0 waiters").first().waitFor();
    console.log(
      `10,000 locks: ${Math.round((await processorMs()) - startedAt)} ms of processor to show all of them again`,
    );
    expect(await rows.count()).toBeLessThan(100);
  });

  test("finds locks by a part of what they show, and sorts them by the heads of its columns", async () => {
    const server = await started();
    const { client } = server;
    const terms = (owner: string) => ({ terms: { ...lasting(owner), labels: { team: "data" } } });
    await client.lease({ name: "etl/first", ...terms("worker-1") });
    await client.lease({ name: "etl/second", ...terms("worker-2") });
    await client.ticket({ name: "etl/second", ...terms("nightly") });
    const { page } = await visit(server, "#/locks?order=name");
    const names = () => page.locator("tbody a").allTextContents();
    const part = page.getByRole("searchbox", { name: "A part of" });
    await expect.poll(names).toEqual(["etl/first", "etl/second"]);
    for (const [text, found] of [
      ["NIGHT", ["etl/second"]],
      ["team=data", ["etl/first", "etl/second"]],
      ["worker-1", ["etl/first"]],
    ] as const) {
      await part.fill(text);
      await expect.poll(names).toEqual(found);
    }
    await part.fill("nobody");
    await page.getByText("No busy lock has nobody in its name").waitFor();
    await part.fill("");
    await page.getByRole("button", { name: "Waiting", exact: true }).click();
    await expect.poll(names).toEqual(["etl/second", "etl/first"]);
    await page.getByRole("button", { name: "Held for" }).click();
    await expect.poll(names).toEqual(["etl/first", "etl/second"]);
    expect(page.url()).toContain("order=held");
    expect(await page.locator("th[aria-sort=descending]").textContent()).toMatch(/^Held for/);
  });

  test("has keys, a first command where there is nothing, and a word for an address that is none", async () => {
    const server = await started();
    const { page } = await visit(server, "#/locks");
    await page.getByText("rowlock run hello").waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    expect(await page.evaluate("document.activeElement.placeholder")).toMatch(/^Names that begin with/);
    await page.keyboard.type("a/?");
    expect(await page.getByRole("searchbox", { name: "Names that begin with" }).inputValue()).toBe("a/?");
    await page.evaluate('location.hash = "#/nothing"');
    await page.getByText("There is no page nothing here.").waitFor();
    await page.getByRole("link", { name: "All locks" }).click();
    await page.getByRole("heading", { level: 1, name: "Locks" }).waitFor();
  });

  test("keeps what a link says: the view, the prefix, the order", async () => {
    const server = await started();
    await held(server.client, "etl/load");
    await held(server.client, "report/daily");
    const { page } = await visit(server, "#/locks?prefix=rep&order=name");
    await page.getByRole("link", { name: "report/daily" }).waitFor();
    expect(await page.getByRole("link", { name: "etl/load" }).count()).toBe(0);
    await page.getByRole("link", { name: "report/daily" }).click();
    await page.getByRole("heading", { level: 1, name: "report/daily" }).waitFor();
    expect(page.url()).toMatch(/#\/lock\/report%2Fdaily$/);
    await page.goBack();
    await page.getByRole("searchbox", { name: "Names that begin with" }).waitFor();
    expect(await page.getByRole("searchbox", { name: "Names that begin with" }).inputValue()).toBe("rep");
  });
});
