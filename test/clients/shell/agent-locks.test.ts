// A wait that an agent forgets.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AgentLocks, FORGOTTEN_AFTER_MS } from "../../../clients/shell/agent-locks.ts";
import { foldersAbove, isBelow } from "../../../clients/shell/agent-paths.ts";

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
    'Your wait for "a" is over: you have held it for 4 s, with the fencing token 7. Do the work there, and release it.\n',
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

test("the folders above a path are those that are not itself", () => {
  expect([foldersAbove("a/b/c"), foldersAbove("a")]).toEqual([["a", "a/b"], []]);
  expect([isBelow("a/b", "a"), isBelow("ab", "a"), isBelow("a", "a")]).toEqual([true, false, false]);
});

describe("folders", () => {
  /** Grants all, and notes what is held. */
  function folders() {
    const held = new Map<string, AbortController>();
    const acquire = async (name: string, { mode = "permit" }: { mode?: string }) => {
      const key = `${mode} ${name}`;
      expect(held.has(key)).toBe(false);
      const lost = new AbortController();
      held.set(key, lost);
      const release = async () => void held.delete(key);
      return { lock: { name, token: 1n, signal: lost.signal, release } };
    };
    return { held, locks: new AgentLocks({ rowlock: { acquire } as never, owner: () => "anna" }) };
  }
  const path = (name: string) => ({ name, isPath: true });

  test("are read once for all paths below them, until the last one is released", async () => {
    const { held, locks } = folders();
    for (const name of ["a/b/c", "a/b/d"]) await locks.acquire(path(name), 0);
    const read = ["shared a", "shared a/b"];
    expect([...held.keys()]).toEqual([...read, "exclusive a/b/c", "exclusive a/b/d"]);
    await locks.release("a/b/c");
    expect([...held.keys()]).toEqual([...read, "exclusive a/b/d"]);
    await locks.release("a/b/d");
    expect([...held.keys()]).toEqual([]);
  });

  test("that are lost take the paths below them with them", async () => {
    const { held, locks } = folders();
    for (const name of ["a/b/c", "d/e"]) await locks.acquire(path(name), 0);
    const lost = held.get("shared a");
    held.delete("shared a");
    lost?.abort();
    expect(locks.news()).toMatch(/^You have lost "a\/b\/c", and/);
    await vi.advanceTimersByTimeAsync(0);
    expect([...held.keys()]).toEqual(["shared d", "exclusive d/e"]);
    expect(await locks.acquire(path("a/b/c"), 0)).toMatch(/^You hold/);
  });

  test("are never waited for behind the agent's own work", async () => {
    const { locks } = folders();
    await locks.acquire(path("a/b"), 0);
    expect(await locks.acquire(path("a/b/c"), 0)).toMatch(/^You hold "a\/b", which "a\/b\/c" is a part of/);
    expect(await locks.acquire(path("a"), 0)).toMatch(
      /^You have to do with "a\/b" already, .*: release "a\/b" first/,
    );
    await locks.release("a/b");
    expect(await locks.acquire(path("a"), 0)).toMatch(/^You hold "a" now/);
  });

  test("are given back when the agent ends", async () => {
    const { held, locks } = folders();
    await locks.acquire(path("a/b"), 0);
    await locks.end();
    expect([...held.keys()]).toEqual([]);
  });
});
