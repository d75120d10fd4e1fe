// Who may wait for a lock: set for a name or a pattern, beside its limit and its rate.

/** What becomes of a request that would wait, and finds as many waiting as may. */
export type WhenFull = "refuse" | "end_longest_waiting";

export interface QueueRules {
  /** The most claims in the lock's own queue, which the policy bounds, too. */
  readonly waitingMax: number;
  readonly whenFull: WhenFull;
}

export function sameQueueRules(a: QueueRules | null, b: QueueRules | null): boolean {
  if (a === null || b === null) return a === b;
  return a.waitingMax === b.waitingMax && a.whenFull === b.whenFull;
}

/** As rows and the history keep them, such as `1/end_longest_waiting`. */
export function queueRulesText({ waitingMax, whenFull }: QueueRules): string {
  return `${waitingMax}/${whenFull}`;
}

/** What `queueRulesText` has written. */
export function queueRulesOf(text: string): QueueRules {
  const [waitingMax, whenFull] = text.split("/");
  return { waitingMax: Number(waitingMax), whenFull: whenFull as WhenFull };
}

/** For a person: `at most 1 waits, and the newest wins`. */
export function queueRulesWords({ waitingMax, whenFull }: QueueRules): string {
  const most = `at most ${waitingMax} ${waitingMax === 1 ? "waits" : "wait"}`;
  return whenFull === "refuse" ? most : `${most}, and the newest wins`;
}
