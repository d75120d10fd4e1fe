// Compatibility: which claims may hold a lock together.

import { describe, expect, test } from "vitest";
import type { Mode } from "../../server/core/claim.ts";
import { fits, neverFits } from "../../server/core/limit.ts";
import type { Lock } from "../../server/core/lock.ts";
import { FREE_LOCK } from "../support/claims.ts";
import { compatible } from "./reference-model.ts";

type Holders = readonly { readonly mode: Mode; readonly permits: number }[];

const permit = (permits: number) => ({ mode: "permit" as const, permits });
const reader = { mode: "shared" as const, permits: 1 };
const writer = { mode: "exclusive" as const, permits: 1 };

describe("a request", () => {
  test.each<[string, Holders, Holders[number], number, boolean]>([
    ["permit fits into a free mutex", [], permit(1), 1, true],
    ["permit waits for a held mutex", [permit(1)], permit(1), 1, false],
    ["permits fit up to the limit", [permit(2), permit(1)], permit(2), 5, true],
    ["permits do not fit beyond the limit", [permit(2), permit(1)], permit(3), 5, false],
    ["permits do not fit while more is held than the limit", [permit(5)], permit(1), 3, false],
    ["permit waits for readers, however high the limit", [reader], permit(1), 100, false],
    ["permit waits for a writer", [writer], permit(1), 100, false],
    ["reader fits beside readers, whatever the limit", [reader, reader, reader], reader, 1, true],
    ["reader waits for permits", [permit(1)], reader, 100, false],
    ["reader waits for a writer", [writer], reader, 100, false],
    ["writer fits into a free lock", [], writer, 1, true],
    ["writer waits for a writer", [writer], writer, 100, false],
    ["writer waits for a reader", [reader], writer, 100, false],
    ["writer waits for a permit", [permit(1)], writer, 100, false],
    ["permit does not fit into a paused lock", [], permit(1), 0, false],
    ["reader does not fit into a paused lock, not even beside readers", [reader], reader, 0, false],
    ["writer does not fit into a paused lock", [], writer, 0, false],
  ])("for a %s", (_sentence, holders, asked, limit, expected) => {
    expect(fits(heldBy(holders), limit, asked)).toBe(expected);
    expect(compatible(holders, asked, limit)).toBe(expected);
  });

  test.each<[string, Holders[number], number, boolean]>([
    ["more permits than the limit never fits", permit(4), 3, true],
    ["as many permits as the limit may fit", permit(3), 3, false],
    ["permits of a paused lock may fit once its limit is set again", permit(4), 0, false],
    ["a reader may always fit", reader, 1, false],
    ["a writer may always fit", writer, 1, false],
  ])("for %s", (_sentence, asked, limit, expected) => {
    expect(neverFits(limit, asked)).toBe(expected);
  });
});

function heldBy(holders: Holders): Lock {
  const of = (mode: Mode) => holders.filter((holder) => holder.mode === mode);
  return {
    ...FREE_LOCK,
    heldPermits: of("permit").reduce((sum, holder) => sum + holder.permits, 0),
    sharedHolders: of("shared").length,
    exclusiveHolders: of("exclusive").length,
    holders: holders.length,
  };
}
