// Who uses locks: claims counted by name, owner, principal and class, and sorted.

import { expect, test } from "vitest";
import { groupOf, type Order, usageOf, usageTable } from "../../../clients/shell/usage.ts";
import type { ClaimView } from "../../../clients/typescript/src/index.ts";
import { claimView } from "./claim-view.ts";

const NOW_MS = 1_000_000;
const SINCE_MS = NOW_MS - 600_000;
const plain = (_: string, text: string) => text;
const ago = (seconds: number) => new Date(NOW_MS - seconds * 1_000);

const claim = (lockName: string, owner: string, more: Partial<ClaimView>) =>
  claimView({ lockName, owner, state: "held", requestedAt: ago(1_000), ...more });

const CLAIMS = [
  claim("etl/load", "nightly", { grantedAt: ago(900), expiresAt: ago(-30), principal: "token:etl" }),
  claim("etl/orders", "nightly", { grantedAt: ago(60) }),
  claim("web/a", "web", { grantedAt: ago(10), expiresAt: ago(-30), provisional: true }),
  claim("web/a", "web", { state: "waiting" }),
  claim("web/a", "web", { state: "waiting" }),
  claim("job", "cron", {
    state: "ended",
    grantedAt: ago(700),
    end: { reason: "RELEASED", endedAt: ago(500) },
  }),
  claim("job", "cron", {
    state: "ended",
    grantedAt: ago(400),
    end: { reason: "EXPIRED", endedAt: ago(300) },
  }),
  claim("job", "cron", {
    state: "ended",
    grantedAt: ago(200),
    end: { reason: "FORCE_RELEASED", endedAt: ago(100) },
  }),
  claim("job", "cron", { state: "ended", end: { reason: "TIMED_OUT", endedAt: ago(50) } }),
];

const counted = (by: Parameters<typeof groupOf>[0], classes: string[] = [], order: Order = "held") =>
  usageOf(CLAIMS, groupOf(by, classes), { sinceMs: SINCE_MS, nowMs: NOW_MS, order });

test.each<[Parameters<typeof groupOf>[0], string[], string[]]>([
  ["name", [], ["etl/load", "etl/orders", "job", "web/a"]],
  ["owner", [], ["cron", "nightly", "web"]],
  ["principal", [], ["(nobody asked)", "token:etl"]],
  ["class", [], ["etl/*", "other", "web/*"]],
  ["class", ["etl/*", "job", "etl/o*"], ["etl/*", "etl/o*", "job", "other"]],
  ["class", ["*", "job*"], ["*", "job*"]],
  ["class", ["job*", "job"], ["job", "other"]],
])("by %s with classes %j there are the groups %j", (by, classes, groups) => {
  expect(
    counted(by, classes)
      .map(({ group }) => group)
      .sort(),
  ).toEqual(groups);
});

test("the table has a row for each group, and escapes its name", () => {
  const table = (claims: readonly ClaimView[]) =>
    usageTable(usageOf(claims, groupOf("owner", []), { sinceMs: SINCE_MS, nowMs: NOW_MS, order: "time" }), {
      by: "owner",
      overMs: 600_000,
      paint: plain,
    });
  expect(table(CLAIMS).split("\n")).toEqual([
    "OWNER    HELD  WAITING  LONGEST  LEAKS  TIME IN 10 MIN  ENDED  LOST",
    "nightly  2     0        15 min   1      11 min          0",
    "cron     0     0                 0      5 min           3      67 %",
    "web      1     2        10 s     1      10 s            0",
    "",
  ]);
  expect(table([claim("a", "x\n\x1b[2J", { grantedAt: ago(1) })])).toMatch(
    /^[\x20-\x7e]+\nx\\u000a\\u001b\[2J /,
  );
  expect(table([])).toBe("No lock is held or waited for, and no lease has ended lately.\n");
});

test("a lease that was granted a moment ago is no leak: it is on its way to its client", () => {
  const leaksAfter = (seconds: number) => {
    const fresh = claim("web/a", "web", { grantedAt: ago(seconds), expiresAt: ago(-30), provisional: true });
    return usageOf([fresh], groupOf("name", []), { sinceMs: SINCE_MS, nowMs: NOW_MS, order: "held" })[0]
      ?.leaks;
  };
  expect([0, 0.057, 4.9, 5].map(leaksAfter)).toEqual([0, 0, 0, 1]);
});
