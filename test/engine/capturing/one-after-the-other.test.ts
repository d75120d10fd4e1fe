// Work with the same key runs one at a time, in order.

import { expect, test } from "vitest";
import { OneAfterTheOther } from "../../../server/engine/capturing/one-after-the-other.ts";

const turn = () => new Promise(setImmediate);

test("work under one key begins when the previous work has ended, and gets its result", async () => {
  const inOrder = new OneAfterTheOther<string>();
  const begun: (string | undefined)[] = [];
  const ends = Array.from({ length: 3 }, () => Promise.withResolvers<string>());
  const runs = ends.map(({ promise }) =>
    inOrder.run("key", (before) => {
      begun.push(before);
      return promise;
    }),
  );
  await turn();
  expect(begun).toEqual([undefined]);
  ends[0]?.resolve("one");
  expect(await runs[0]).toBe("one");
  await turn();
  expect(begun).toEqual([undefined, "one"]);
  ends[1]?.reject(new Error("of the second"));
  await expect(runs[1]).rejects.toThrow("of the second");
  await turn();
  expect(begun).toEqual([undefined, "one", undefined]);
  ends[2]?.resolve("three");
  expect(await runs[2]).toBe("three");
});

test("work under another key, or after all others have ended, does not wait", async () => {
  const inOrder = new OneAfterTheOther<string | undefined>();
  const end = Promise.withResolvers<string>();
  const first = inOrder.run("key", () => end.promise);
  expect(await inOrder.run("other", async (before) => before)).toBeUndefined();
  end.resolve("first");
  await first;
  expect(await inOrder.run("key", async (before) => before)).toBeUndefined();
});
