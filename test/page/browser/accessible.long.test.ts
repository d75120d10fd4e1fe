// The page without eyes, without a mouse, in the dark and on a phone.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import type { ServingServer } from "../../process/stage.ts";
import { processStage } from "../../process/stage.ts";
import { HAS_CHROMIUM } from "../../support/chromium.ts";
import { lasting } from "../../support/lasting.ts";
import { PHONE, visits } from "./visits.ts";

/** Waiters of these tests give no sign of life. */
const PATIENT = ["--grace", "10m"];
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds in the page as it is now. */
async function faults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const found = (await page.evaluate("axe.run()")) as {
    violations: { id: string; help: string; nodes: { html: string }[] }[];
  };
  return found.violations.map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" ")}`,
  );
}

/** Locks in each state that the page shows. */
async function furnish({ client }: ServingServer): Promise<void> {
  const hold = (name: string, owner: string, labels: Readonly<Record<string, string>> = {}) =>
    client.lease({ name, terms: { ...lasting(owner), labels } });
  const limit = (name: string, count: number) => client.limit(name, count, { reason: "month-end closing" });
  await client.limitAll("etl/*", 2, { reason: "night shift" });
  const { leaseId } = await hold("etl/load", "load-orders");
  await client.call("release", { leaseId });
  for (const owner of ["load-prices", "load-stock"]) await hold("etl/load", owner, { host: "etl-1" });
  for (const owner of ["load-clicks", "load-reviews"])
    await client.ticket({ name: "etl/load", terms: lasting(owner) });
  await limit("drains", 2);
  for (const owner of ["a", "b"]) await hold("drains", owner);
  await limit("drains", 1);
  await limit("paused", 0);
  await client.ticket({ name: "paused", terms: { owner: "billing" } });
  await client.call("updateRecord", {
    name: "report/daily",
    status: "failed",
    newAttemptsLeft: { case: "attemptsLeft", value: 0 },
    newNotBefore: { case: "notBeforeIn", value: { seconds: 600n, nanos: 0 } },
  });
  await hold(`a/${"very-long-name/".repeat(16)}`, "somebody with a rather long name as well");
  await client.call("forceRelease", { target: { case: "name", value: "drains" }, reason: "it hangs" });
}

/** Each view, and what shows that it is complete. */
const VIEWS: readonly (readonly [hash: string, complete: string])[] = [
  ["#/locks?all=1", "tr[data-at]"],
  ["#/lock/etl%2Fload", ".bars li"],
  ["#/lock/report%2Fdaily", ".empty"],
  ["#/limits", "td button"],
  ["#/changes", "table.changes"],
  ["#/activity", ".plot canvas"],
];

describe.skipIf(!HAS_CHROMIUM)("the page", () => {
  const stage = processStage();
  const { visit } = visits();

  test.each(["light", "dark"] as const)(
    "has nothing that axe finds, in any view, in %s",
    async (colorScheme) => {
      const server = await stage.serving("sqlite::memory:", ...PATIENT);
      await furnish(server);
      const { page } = await visit(server, "", { colorScheme });
      for (const [hash, complete] of VIEWS) {
        await page.goto(`${server.metricsUrl}/${hash}`);
        await page.locator(complete).first().waitFor();
        expect(await faults(page), hash).toEqual([]);
      }
      await page.goto(`${server.metricsUrl}/#/lock/etl%2Fload`);
      for (const button of ["Set limit or rate…", "Change record…", "End all 2 leases…"]) {
        await page.getByRole("button", { name: button }).click();
        await page.getByRole("dialog").waitFor();
        expect(await faults(page), button).toEqual([]);
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      }
    },
  );

  test("fits a phone: axe finds nothing in any view there, and a dialog has room", async () => {
    const server = await stage.serving("sqlite::memory:", ...PATIENT);
    await furnish(server);
    const { page } = await visit(server, "", { viewport: PHONE, hasTouch: true });
    for (const [hash, complete] of VIEWS) {
      await page.goto(`${server.metricsUrl}/${hash}`);
      await page.locator(complete).first().waitFor();
      expect(await faults(page), hash).toEqual([]);
    }
    await page.goto(`${server.metricsUrl}/#/lock/etl%2Fload`);
    await page.getByRole("button", { name: "Set limit or rate…" }).click();
    const box = await page.getByRole("dialog").boundingBox();
    expect(box?.width).toBeLessThanOrEqual(PHONE.width);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(PHONE.width);
  });

  test("can be used by keys alone, and shows where the focus is", async () => {
    const server = await stage.serving("sqlite::memory:", ...PATIENT);
    await furnish(server);
    const { page } = await visit(server, "#/locks");
    await page.getByRole("link", { name: "etl/load" }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    const focused = () =>
      page.evaluate("document.activeElement.getAttribute('title') ?? document.activeElement.textContent");
    for (let tabs = 0; (await focused()) !== "etl/load"; tabs++) {
      expect(tabs).toBeLessThan(20);
      await page.keyboard.press("Tab");
    }
    const outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle");
    expect(outline).toBe("solid");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "etl/load" }).waitFor();
    await page.getByRole("button", { name: "Set limit or rate…" }).press("Enter");
    await page.getByRole("dialog").waitFor();
    // Within the dialog, and back to the button from which it came.
    expect(await page.evaluate("document.activeElement.closest('dialog') !== null")).toBe(true);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await page.evaluate("document.activeElement.textContent")).toBe("Set limit or rate…");
  });

  test("says to a screen reader what it has found, and not each change", async () => {
    const server = await stage.serving("sqlite::memory:", ...PATIENT);
    await furnish(server);
    const { page } = await visit(server, "#/locks");
    await page.getByRole("link", { name: "etl/load" }).waitFor();
    await page.evaluate(`
      window.said = [];
      for (const status of document.querySelectorAll("[role=status]"))
        new MutationObserver(() => said.push(status.textContent))
          .observe(status, { childList: true, characterData: true, subtree: true });
    `);
    // Without end, faster than anything that is said.
    const churn = new AbortController();
    const churned = (async () => {
      while (!churn.signal.aborted) {
        const { leaseId } = await server.client.lease({
          name: "churn",
          terms: lasting(),
        });
        await server.client.call("release", { leaseId });
      }
    })();
    await page.getByRole("searchbox", { name: "Names that begin with" }).fill("etl/");
    await page.locator(".count [role=status]", { hasText: "1 busy lock, 2 waiters" }).waitFor();
    churn.abort();
    await churned;
    expect(await page.evaluate("said")).toEqual(["1 busy lock, 2 waiters"]);
  });
});
