// A wait that an agent forgets.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AgentLocks, FORGOTTEN_AFTER_MS } from "../../../clients/shell/agent-locks.ts";
import { foldersAbove } from "../../../clients/shell/agent-paths.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that grants when the test says so. */
function stage() {
  const granted = Promise.withResolvers<object>();
  const asked: { signal?: AbortSignal } = {};
  const acquire = (_name: string, { signal }: { signal: AbortSignal }) => {
    asked.signal = signal;
    signal.addEventListener("abort", () => granted.reject(signal.reason));
    return granted.promise;
  };
  const getLock = async (name: string) => ({
    name,
    holders: [],
    waiters: [],
    holderCount: 0,
    waiterCount: 0,
  });
  const release = vi.fn(async () => {});
  const lock = { name: "a", token: 7n, signal: new AbortController().signal, release };
  return {
    locks: new AgentLocks({ rowlock: { acquire, getLock } as never, owner: () => "anna" }),
    asked,
    release,
    grant: () => granted.resolve({ lock }),
  };
}
async function afterWaiting(locks: AgentLocks, waitMs: number): Promise<string> {
  const answer = locks.acquire({ name: "a" }, waitMs);
  await vi.advanceTimersByTimeAsync(waitMs);
  return await answer;
}

test("goes on between two calls, and its place is given up when nobody asks for it any more", async () => {
  const { locks, asked } = stage();
  expect(await afterWaiting(locks, 1_000)).toMatch(
    /^Not yet: you have waited 1 s, for "a"\.\n.*\nYour place is kept/,
  );
  await vi.advanceTimersByTimeAsync(FORGOTTEN_AFTER_MS - 1);
  expect([await afterWaiting(locks, 2_000), asked.signal?.aborted]).toEqual([
    expect.stringMatching(/^Not yet: you have waited 5 min/),
    false,
  ]);
  await vi.advanceTimersByTimeAsync(FORGOTTEN_AFTER_MS);
  expect([asked.signal?.aborted, locks.mine()]).toEqual([true, "You hold nothing, and wait for nothing."]);
});

test("that ends between two calls is told with the next answer, and the lock is kept from then on", async () => {
  const { locks, release, grant } = stage();
  await afterWaiting(locks, 1_000);
  grant();
  await vi.advanceTimersByTimeAsync(4_000);
  expect(locks.news()).toBe(
    'Your wait for "a" is over: you have held it for 4 s. Do the work there, and release it.\n',
  );
  expect(await locks.acquire({ name: "a" }, 0)).toBe(
    'You hold "a", with the fencing token 7. Release it when you are done.',
  );
  expect(locks.news()).toBe("");
  await vi.advanceTimersByTimeAsync(2 * FORGOTTEN_AFTER_MS);
  expect(release).not.toHaveBeenCalled();
});

test("that ends between two calls gives the lock back if the agent never comes again", async () => {
  const { locks, release, grant } = stage();
  await afterWaiting(locks, 1_000);
  grant();
  await vi.advanceTimersByTimeAsync(FORGOTTEN_AFTER_MS);
  expect(release).toHaveBeenCalledOnce();
  expect([locks.mine(), locks.news()]).toEqual(["You hold nothing, and wait for nothing.", ""]);
});

test("that is given up just when it ends well gives the lock back", async () => {
  const { locks, release, grant } = stage();
  await afterWaiting(locks, 1_000);
  grant();
  expect(await locks.release("a")).toBe('Released "a".');
  expect(release).toHaveBeenCalledOnce();
});

test("the folders above a path are taken for reading", () => {
  expect(foldersAbove("a/b/c")).toEqual([
    { name: "a", mode: "shared" },
    { name: "a/b", mode: "shared" },
  ]);
  expect(foldersAbove("a")).toEqual([]);
});
