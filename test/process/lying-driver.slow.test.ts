// Shows that the clients' conformance suite can fail: a driver that confirms everything and does nothing passes no
// scenario.

import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { SQLITE } from "../clients/conformance/databases.ts";
import { Language } from "../clients/conformance/language.ts";
import { play } from "../clients/conformance/play.ts";
import { readScenarios } from "../clients/conformance/scenario.ts";

const liar = new Language("liar", SQLITE, { folder: join(import.meta.dirname, "lying-driver") });
afterAll(() => liar.stop());

/** The other scenarios wait for events that never come, and would run into their timeouts. */
const QUICK = [
  "a busy lock is refused",
  "a bounded wait ends",
  "a scope that ends",
  "lost by an operator",
  "every reason of an error",
  "reasons that a test cannot bring about",
  "options that cannot work",
  "no server",
  "TLS, from both sides",
  "an expired certificate",
  "operating",
  "what a lock remembers",
  "attempts and statuses",
  "sets: all or none",
  "sets: what cannot be",
  "a capture",
  "a capture is repeated",
  "options of records that cannot work",
];

test.each(readScenarios().filter(({ name }) => QUICK.includes(name)))("$name", async (scenario) => {
  expect(await play(liar, scenario)).toMatchObject({
    kind: "failed",
    why: expect.stringMatching(/^step \d+ /),
  });
});

test("all lying drivers exist", () => {
  const names = readScenarios().map(({ name }) => name);
  expect(QUICK.filter((name) => !names.includes(name))).toEqual([]);
});
