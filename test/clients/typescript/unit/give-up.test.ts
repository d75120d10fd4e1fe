// Work that a signal cancels.

import { expect, test, vi } from "vitest";
import { untilGivenUp } from "../../../../clients/typescript/src/give-up.ts";

test("an aborted signal prevents the work", async () => {
  const work = vi.fn();
  const abandon = vi.fn();
  const why = new Error("too late");
  await expect(untilGivenUp(AbortSignal.abort(why), abandon, work)).rejects.toBe(why);
  expect(work).not.toHaveBeenCalled();
  expect(abandon).not.toHaveBeenCalled();
});

test("a signal during the work abandons it with its reason", async () => {
  const giveUp = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const run = untilGivenUp(giveUp.signal, reject, () => promise);
  const why = new Error("enough");
  giveUp.abort(why);
  await expect(run).rejects.toBe(why);
});

test.each(["ends", "fails"])("a signal after work that %s abandons nothing", async (how) => {
  const giveUp = new AbortController();
  const abandon = vi.fn();
  const outcome = how === "ends" ? Promise.resolve(7) : Promise.reject(new Error("broken"));
  const run = untilGivenUp(giveUp.signal, abandon, () => outcome);
  if (how === "ends") await expect(run).resolves.toBe(7);
  else await expect(run).rejects.toThrow("broken");
  giveUp.abort();
  expect(abandon).not.toHaveBeenCalled();
});

test("work without a signal runs to its end", async () => {
  expect(await untilGivenUp(undefined, vi.fn(), async () => "done")).toBe("done");
});
