// The further locks of a claim for several: how a person writes one, `b:shared` or `b:permits=2`, and the same spelling in what
// is shown.

import type { ClaimedLockView, ClaimView, WantedLock } from "../typescript/src/index.ts";
import { jsonLine, shown } from "./print.ts";

/** A further lock, as a flag names it. */
export type FurtherLock = Exclude<WantedLock, string>;

/** Only these words after the last colon say how to take the lock: names may have colons, such as `order:7`. */
const HOW = /^(.*):(shared|exclusive|permits=(.*))$/s;

/** The name of a further lock as a flag has it, and how to take it, as it was written. */
export function writtenLock(text: string) {
  const [, name = text, how, permits] = HOW.exec(text) ?? [];
  return {
    name,
    permits,
    mode: permits === undefined ? (how as "shared" | "exclusive" | undefined) : undefined,
  };
}

/** Adds a fault if the first lock is among the further ones. */
export function refuseFirstAgain(
  command: { fault(sentence: string): void },
  first: string,
  also: readonly FurtherLock[] = [],
): void {
  // After a fault of the flag, it is an empty text.
  if ([...also].some(({ name }) => name === first))
    command.fault(`--also ${JSON.stringify(first)}: this is the first lock already: leave it out`);
}

/** A further lock as its flag would name it. */
export function spelled({ name, mode = "permit", permits = 1 }: FurtherLock): string {
  if (mode !== "permit") return `${name}:${mode}`;
  return permits > 1 || HOW.test(name) ? `${name}:permits=${permits}` : name;
}

/** The other locks of a claim in brackets, after what is said of it; "" if it has none. */
export function alsoWords(also: readonly FurtherLock[] = []): string {
  return also.length === 0 ? "" : ` (also ${also.map((each) => shown(spelled(each))).join(", ")})`;
}

/** The same of a claim that a server shows. */
export function othersOf({ also = [] }: Pick<ClaimView, "also">): readonly FurtherLock[] {
  return also.map(({ lockName: name, mode, permits }: ClaimedLockView) => ({ name, mode, permits }));
}

/** The tokens of a lease by the names of its locks, as JSON. */
export function tokensText(tokens: ReadonlyMap<string, bigint>): string {
  return jsonLine(Object.fromEntries(tokens)).trimEnd();
}

/** The field of JSON with the same; none for a lease on one lock. */
export function severalTokens(tokens: ReadonlyMap<string, bigint>) {
  return tokens.size > 1 ? { tokens: Object.fromEntries(tokens) } : {};
}
