// A headless Chromium, that of the distribution.

import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** Where Debian's package puts it. Whoever names another one wants the tests to fail without it. */
const { ROWLOCK_TEST_CHROMIUM: named } = process.env;
const PROGRAM = named ?? "/usr/bin/chromium";
export const HAS_CHROMIUM = named !== undefined || existsSync(PROGRAM);

export async function startChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: PROGRAM,
    // Its own sandbox needs a user other than root. The tests show it nothing but pages of this repository.
    args: ["--no-sandbox"],
  });
}
