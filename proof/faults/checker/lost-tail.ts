// A history whose database has lost a tail: a lagging copy was promoted, or an earlier dump restored. What was acknowledged
// within that tail may be lost, so its outcome counts as unknown, and what was read within it proves nothing about later.
// What was told of tokens, holds and writes stays as it was: these promises outlast the loss.

import { type Entry, History, type TailLost } from "../history/history.ts";

/** The history as it is, as far as nothing was lost. */
export function withLostTails(history: History): History {
  const tails = history.of("lose");
  if (tails.length === 0) return history;
  const told = new History();
  for (const entry of history.entries) {
    const known = tails.some((tail) => isWithin(entry, tail)) ? lost(entry) : entry;
    if (known) told.add(known);
  }
  return told;
}

const isWithin = (entry: Entry, tail: TailLost) => entry.startMs <= tail.endMs && entry.endMs >= tail.startMs;

function lost(entry: Entry): Entry | undefined {
  switch (entry.did) {
    case "read":
    case "whole":
      return undefined;
    case "count":
      return entry.outcome === "mismatch" ? undefined : { ...entry, outcome: "unknown" };
    case "acquire":
      return entry.outcome === "refused" ? entry : { ...entry, outcome: "unknown" };
    case "force":
      return { ...entry, ended: 0, outcome: "unknown" };
    case "release":
    case "limit":
    case "rate":
    case "pool":
    case "again":
    case "make":
    case "finish":
      return { ...entry, outcome: "unknown" };
    case "take":
      return { ...entry, taken: [], outcome: "unknown" };
    default:
      return entry;
  }
}
