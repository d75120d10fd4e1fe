// Makes the pictures of the page: a real server under some load, in a headless Chromium, light, dark and as a phone.
//
//   npm run pictures:page -- [--seconds 240] [--out FOLDER] [--all]
//
// Needs Chromium, and Debian's fonts-inter and fonts-jetbrains-mono for these letters. With --all it also makes those of the other views, which only its author looks at.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { serve } from "../../bench/systems/rowlock.ts";
import { startChromium } from "../../test/support/chromium.ts";
import { startPageLoad } from "./page-load.ts";

const OWN = join(import.meta.dirname, "../..");
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

const { values } = parseArgs({
  options: {
    all: { type: "boolean", default: false },
    seconds: { type: "string", default: "240" },
    out: { type: "string", default: join(OWN, "docs/pictures") },
  },
});
mkdirSync(values.out, { recursive: true });
const directory = mkdtempSync(join(tmpdir(), "rowlock-pictures-"));
const stops: (() => Promise<unknown>)[] = [];
try {
  const server = await serve(`sqlite:${join(directory, "rowlock.db")}`, directory, OWN);
  stops.unshift(() => server.stop());
  const load = await startPageLoad(server.target.address);
  stops.unshift(() => load.stop());
  await sleep(Number(values.seconds) * 1_000);
  const browser = await startChromium();
  stops.unshift(() => browser.close());
  const url = `http://${server.metrics}/`;

  const picture = async (
    name: string,
    path: string,
    colorScheme: "light" | "dark",
    viewport: typeof DESK,
  ) => {
    const context = await browser.newContext({
      colorScheme,
      viewport,
      deviceScaleFactor: viewport === PHONE ? 1.5 : 1,
    });
    const page = await context.newPage();
    await page.goto(`${url}${path}`);
    await page.locator("main table, main .plot canvas").first().waitFor();
    if (path.startsWith("#/lock/")) await page.locator(".bars li").first().waitFor();
    if (name.endsWith("confirm")) {
      await page
        .getByRole("button", { name: /^End… the claim/ })
        .first()
        .click();
      await page.getByLabel("Reason").fill("it hangs since the deploy");
    }
    // Charts and times settle within a second.
    await sleep(1_200);
    await page.screenshot({ path: join(values.out, `${name}.png`) });
    await context.close();
    console.log(`wrote ${name}.png`);
  };
  const tall = { ...DESK, height: 1_000 };
  await picture("page-locks", "#/locks", "light", { ...DESK, height: 660 });
  await picture("page-lock", "#/lock/etl%2Fload", "dark", tall);
  await picture("page-confirm", "#/lock/etl%2Fload", "light", tall);
  await picture("page-phone", "#/locks", "light", PHONE);
  if (values.all) {
    await picture("page-lock-light", "#/lock/etl%2Fload", "light", tall);
    await picture("page-locks-dark", "#/locks", "dark", DESK);
    await picture("page-record", "#/lock/report%2Fdaily-sales", "light", tall);
    for (const view of ["activity", "limits", "changes"])
      await picture(`page-${view}`, `#/${view}`, "light", DESK);
    await picture("page-phone-lock", "#/lock/etl%2Fload", "dark", PHONE);
  }
} finally {
  for (const stop of stops) await stop();
  rmSync(directory, { recursive: true, force: true });
}
