// The checks of the rows in the background: which server makes them, and what it reports.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { EngineEvent } from "../../../server/engine/answers.ts";
import { InvariantChecks } from "../../../server/engine/background/invariant-checks.ts";
import { CHECKED_AGAIN_MS, CHECKED_MS_MAX, FINDINGS_MAX } from "../../../server/engine/engine-bounds.ts";
import type { Finding, Store } from "../../../server/storage/store.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

const ERROR: Finding = { severity: "error", check: "counters", message: "They differ." };
const WARNING: Finding = { severity: "warning", check: "fail_over", message: "Grants are paused." };

function scene(check: () => Promise<Finding[] | null> = async () => [ERROR, WARNING]) {
  const events: EngineEvent[] = [];
  const asked: number[][] = [];
  let turns = 0;
  const register = [
    { id: 3n, deadlineUs: 9 },
    { id: 5n, deadlineUs: 20 },
    { id: 7n, deadlineUs: 20 },
  ];
  const checks = (replica: bigint) =>
    new InvariantChecks({
      store: {
        replicas: async () => ({ nowUs: 10, replicas: register }) as unknown as ReturnType<Store["replicas"]>,
        checkLiveClaims: (...bounds) => {
          asked.push(bounds);
          return check();
        },
      },
      turns: {
        run: (read) => {
          turns += 1;
          return read();
        },
      },
      replica,
      observer: (event) => events.push(event),
    });
  return { checks, events, asked, turns: () => turns };
}

test("are made by the oldest server that is alive, in the turn of a listing, and report damage but no passing state", async () => {
  const { checks, events, asked, turns } = scene();
  await checks(5n).run();
  expect(events).toEqual([{ kind: "checked", findings: [ERROR] }]);
  expect(asked).toEqual([[FINDINGS_MAX, CHECKED_MS_MAX]]);
  expect(turns()).toBe(1);
});

test("are left to the oldest server by the others", async () => {
  const { checks, events, asked } = scene();
  for (const replica of [3n, 7n]) await checks(replica).run();
  expect(events).toEqual([
    { kind: "not_checked", why: "other_server" },
    { kind: "not_checked", why: "other_server" },
  ]);
  expect(asked).toEqual([]);
});

test("that fail are reported, so that what was found before is not shown as new", async () => {
  const { checks, events } = scene(() => Promise.reject(new Error("away")));
  await expect(checks(5n).run()).rejects.toThrow("away");
  expect(events).toEqual([{ kind: "not_checked", why: "failed" }]);
});

test("that would take too long are not tried again for hours", async () => {
  const { checks, events, asked } = scene(async () => null);
  const ours = checks(5n);
  await ours.run();
  vi.advanceTimersByTime(CHECKED_AGAIN_MS - 1);
  await ours.run();
  expect(events).toEqual([{ kind: "not_checked", why: "too_much" }]);
  vi.advanceTimersByTime(1);
  await ours.run();
  expect(asked).toHaveLength(2);
});
