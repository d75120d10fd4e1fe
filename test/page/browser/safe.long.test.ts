// What others name their locks and themselves does no harm in the page; and how much a browser loads for it.

import { describe, expect, test } from "vitest";
import { processStage } from "../../process/stage.ts";
import { HAS_CHROMIUM } from "../../support/chromium.ts";
import { lasting } from "../../support/lasting.ts";
import { visits } from "./visits.ts";

const BYTES_MAX = 100_000;
/** Markup, a character that turns around what follows, one that ends a line, one that cannot be seen. */
const NASTY = `<img src=x onerror=alert(1)>&lt;"'\u202e\u2066dne\u2028\u0007\u200b/../?#%2F`;
const SHOWN = `<img src=x onerror=alert(1)>&lt;"'\\u202e\\u2066dne\\u2028\\u0007\\u200b/../?#%2F`;

describe.skipIf(!HAS_CHROMIUM)("the page", () => {
  const stage = processStage();
  const { visit } = visits();

  test("shows a name full of markup and of characters that turn text around as it is, everywhere", async () => {
    const server = await stage.serving("sqlite::memory:", "--grace", "10m");
    const { client } = server;
    const ask = { name: NASTY, terms: { ...lasting(NASTY.slice(0, 60)), labels: { "<b>": NASTY } } };
    await client.limit(NASTY, 1, { reason: NASTY });
    await client.call("updateRecord", { name: NASTY, status: "<i>\u202e" });
    await client.lease(ask);
    await client.ticket(ask);
    const { page } = await visit(server);
    await page.getByRole("link", { name: SHOWN }).click();
    await page.getByRole("heading", { level: 1, name: SHOWN }).waitFor();
    await page.locator(".bars li").first().waitFor();
    await page.getByRole("button", { name: /^End… the claim/ }).click();
    await page.getByRole("button", { name: "Cancel" }).click();
    for (const view of ["limits", "changes"]) {
      await page.getByRole("navigation").getByRole("link", { name: view }).click();
      await page.getByRole("link", { name: SHOWN }).first().waitFor();
    }
    expect(await page.locator("img, main b, main i:not(.escaped)").count()).toBe(0);
    // Nothing in the page has such a character but in addresses, which escape them.
    expect(await page.evaluate("document.body.innerText")).not.toMatch(/[\p{Bidi_Control}\p{Zl}\u200b]/u);
    expect(await page.title()).not.toMatch(/[\u202e\u2066]/);
  });

  test("has one script and one style sheet of its own, and loads less than 100 KB", async () => {
    const server = await stage.serving("sqlite::memory:");
    const { page, bytes } = await visit(server, "#/activity");
    await page.locator(".plot canvas").first().waitFor();
    const loaded = (await page.evaluate(
      `performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => !name.includes("/api/"))`,
    )) as string[];
    expect(loaded.map((name) => new URL(name).pathname).sort()).toEqual(["/page/page.css", "/page/page.js"]);
    const all = await bytes();
    console.log(`${all} bytes in all, with what the server answered`);
    expect(all).toBeGreaterThan(20_000);
    expect(all).toBeLessThan(BYTES_MAX);
  });

  test("is light or dark as the system has it, until somebody chooses", async () => {
    const server = await stage.serving("sqlite::memory:");
    const { page } = await visit(server, "", { colorScheme: "dark" });
    const back = () => page.evaluate("getComputedStyle(document.body).backgroundColor");
    await page.getByRole("button", { name: "Colours: auto" }).click();
    const light = await back();
    await page.getByRole("button", { name: "Colours: light" }).click();
    const dark = await back();
    expect(light).not.toBe(dark);
    await page.reload();
    await page.getByRole("button", { name: "Colours: dark" }).click();
    expect(await back()).toBe(dark);
    await page.emulateMedia({ colorScheme: "light" });
    expect(await back()).toBe(light);
  });
});
