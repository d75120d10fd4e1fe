// Who did what: a lease belongs to the principal who asked for it; whoever has lost their rights is denied, and nobody else.

import type { Entry, History } from "../history/history.ts";
import type { Breach } from "./breach.ts";

export function identity(history: History): Breach[] {
  return [...principals(history), ...denied(history), ...allowed(history)];
}

/** Owners are what clients say, and principals what the server has verified. Here they are the same. */
function principals(history: History): Breach[] {
  return history
    .of("list")
    .filter(({ principal, owner }) => principal !== undefined && principal !== `token:${owner}`)
    .map(({ lock, token, owner, principal }) => ({
      rule: "a lease belongs to who asked for it",
      what: `${lock}: ${token} of ${owner} belongs to ${principal}`,
    }));
}

function denied(history: History): Breach[] {
  const revoked = history.of("revoke");
  return history
    .of("deny")
    .filter(
      ({ who, startMs, endMs }) =>
        !revoked.some((other) => other.who === who && other.startMs <= endMs && other.endMs >= startMs),
    )
    .map(({ who, command }) => ({ rule: "nobody is denied what they may do", what: `${who}: ${command}` }));
}

function allowed(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const { who, deniedFromMs, deniedUntilMs } of history.of("revoke")) {
    for (const entry of history.entries) {
      if (entry.who !== who || !hasSucceeded(entry)) continue;
      if (entry.startMs < deniedFromMs || entry.endMs > deniedUntilMs) continue;
      const what = `${who}: ${entry.did}, ${(entry.startMs - deniedFromMs).toFixed(0)} ms after it had lost its rights`;
      breaches.push({ rule: "whoever has no rights is denied", what });
    }
  }
  return breaches;
}

/** Something that a server has allowed, in one call that began when the entry did. */
function hasSucceeded(entry: Entry): boolean {
  switch (entry.did) {
    case "acquire":
      return entry.outcome === "granted" && entry.asksOnce;
    case "count":
    case "make":
    case "limit":
      return entry.outcome === "done";
    case "read":
      return true;
    default:
      return false;
  }
}
