// Work with the same key runs one at a time, in order.

import { expect, test } from "vitest";
import { OneAfterTheOther } from "../../../server/engine/capturing/one-after-the-other.ts";

const turn = () => new Promise(setImmediate);

test("work under one key begins when the previous work has ended, even by a failure, and gets its result", async () => {
  const inOrder = new OneAfterTheOther<string>();
  const begun: (string | undefined)[] = [];
  const ends = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const runs = ["first", "second"].map((about, index) =>
    inOrder.run("key", about, (before) => {
      begun.push(before);
      return (ends[index] as PromiseWithResolvers<number>).promise;
    }),
  );
  await turn();
  expect(begun).toEqual([undefined]);
  ends[0]?.reject(new Error("of the first"));
  await expect(runs[0]).rejects.toThrow("of the first");
  await turn();
  expect(begun).toEqual([undefined, "first"]);
  ends[1]?.resolve(2);
  expect(await runs[1]).toBe(2);
});

test("work under another key, or after all others have ended, does not wait", async () => {
  const inOrder = new OneAfterTheOther<string>();
  const end = Promise.withResolvers<void>();
  const first = inOrder.run("key", "first", () => end.promise);
  expect(await inOrder.run("other", "second", async (before) => before)).toBeUndefined();
  end.resolve();
  await first;
  expect(await inOrder.run("key", "third", async (before) => before)).toBeUndefined();
});
