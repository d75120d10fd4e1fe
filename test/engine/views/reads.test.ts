// One read for many callers: no caller gets a state from before its question.

import { describe, expect, test } from "vitest";
import { SharedRead } from "../../../server/engine/views/reads.ts";
import { turn } from "../../support/scripted-transactions.ts";

function scene() {
  const begun: { key: string; caller: unknown; end: PromiseWithResolvers<number> }[] = [];
  const reads = new SharedRead<string, number>((key, caller) => {
    const end = Promise.withResolvers<number>();
    begun.push({ key, caller, end });
    return end.promise;
  });
  const end = async (index: number, value: number | Error) => {
    if (value instanceof Error) begun[index]?.end.reject(value);
    else begun[index]?.end.resolve(value);
    await turn();
  };
  return { reads, begun, end, keys: () => begun.map(({ key }) => key) };
}
const CALLER = { getPeer: () => "a test" };

describe("callers", () => {
  test("that come during a read share the next one, which begins when the first is over", async () => {
    const { reads, keys, end } = scene();
    const first = reads.get("a");
    const [second, third] = [reads.get("a"), reads.get("a")];
    expect(keys()).toEqual(["a"]);
    await end(0, 1);
    expect(keys()).toEqual(["a", "a"]);
    // This read is under way now, so it is too old for a new caller.
    const fourth = reads.get("a");
    await end(1, 2);
    await end(2, 3);
    expect(await Promise.all([first, second, third, fourth])).toEqual([1, 2, 2, 3]);
    expect(keys()).toHaveLength(3);
  });

  test("without a running read get a read of their own, and each key has its own", async () => {
    const { reads, keys, begun, end } = scene();
    const first = reads.get("a", CALLER);
    void reads.get("b");
    expect(keys()).toEqual(["a", "b"]);
    expect(begun[0]?.caller).toBe(CALLER);
    await end(0, 1);
    expect(await first).toBe(1);
    void reads.get("a");
    expect(keys()).toEqual(["a", "b", "a"]);
  });

  test("are not affected by the failure of the read before theirs", async () => {
    const { reads, end, begun } = scene();
    const failure = new Error("A failure made by a test.");
    const first = expect(reads.get("a")).rejects.toBe(failure);
    const second = reads.get("a", CALLER);
    await end(0, failure);
    await first;
    await end(1, 2);
    expect(await second).toBe(2);
    expect(begun[1]?.caller).toBe(CALLER);
    void reads.get("a");
    expect(begun).toHaveLength(3);
  });
});
