// One lock over time, drawn for a terminal.

import { expect, test } from "vitest";
import { claimChart } from "../../../clients/shell/claim-chart.ts";
import type { ClaimView } from "../../../clients/typescript/src/index.ts";
import { claimView } from "./claim-view.ts";

const at = (clock: string) => new Date(`2026-11-24T${clock}`);
const NOW_MS = at("04:00:00").getTime();
const plain = (_: string, text: string) => text;

const claim = (ticketNumber: number, requested: string, more: Partial<ClaimView>) =>
  claimView({ ticketNumber: BigInt(ticketNumber), requestedAt: at(requested), ...more });

const CLAIMS = [
  claim(5, "03:50:00", { state: "waiting", owner: "hourly" }),
  claim(4, "03:35:00", { state: "held", grantedAt: at("03:40:00"), owner: "backfill" }),
  claim(3, "03:20:00", { end: { reason: "TIMED_OUT", endedAt: at("03:30:00") }, owner: "impatient" }),
  claim(2, "03:10:00", {
    grantedAt: at("03:20:00"),
    end: { reason: "FORCE_RELEASED", endedAt: at("03:40:00") },
  }),
  claim(1, "03:00:00", { grantedAt: at("03:00:00"), end: { reason: "RELEASED", endedAt: at("03:20:00") } }),
];

const drawn = (claims: readonly ClaimView[], options = {}) =>
  claimChart(claims, { width: 73, nowMs: NOW_MS, paint: plain, ...options }).split("\n");

test("each claim is a row, with its wait and then its lease, above an axis", () => {
  expect(drawn(CLAIMS)).toEqual([
    "2026-11-24 03:00:00 to 2026-11-24 04:00:00",
    "#1 nightly   █████████████████████",
    "#2 nightly             ░░░░░░░░░░████████████████████x",
    "#3 impatient                     ░░░░░░░░░░░",
    "#4 backfill                                     ░░░░░███████████████████>",
    "#5 hourly                                                      ░░░░░░░░░>",
    "             |         |         |         |         |         |",
    "             03:00     03:10     03:20     03:30     03:40     03:50",
    "░ waits  █ holds  > goes on  x expired or force-released",
    "",
  ]);
});

test("it is as wide as the terminal, however narrow or wide that is", () => {
  for (const width of [40, 73, 200]) {
    const widest = Math.max(
      ...drawn(CLAIMS, { width })
        .slice(1, 8)
        .map((line) => line.length),
    );
    expect(widest).toBe(width);
  }
  expect(
    Math.max(
      ...drawn(CLAIMS, { width: 5 })
        .slice(1, 8)
        .map(({ length }) => length),
    ),
  ).toBe(33);
});

test("owners can neither control the terminal nor widen the picture", () => {
  const [, row] = drawn([claim(1, "03:50:00", { state: "waiting", owner: `\x1b[2J${"o".repeat(300)}` })]);
  expect(row).toMatch(/^#1 \\u001b\[2Jo+… ░+>$/);
  expect(row?.length).toBe(73);
});

test("no claims are no picture", () => expect(drawn([])).toEqual([""]));
