// How much of a bound is used, for gauges. Whoever keeps a bound reports it; nobody decides by these numbers.

export interface BoundUse {
  /** As errors name it in their metadata, if calls are refused beyond it. */
  readonly bound: string;
  /**
   * What all clients share: `room`, beyond which the server refuses more, and `turns`, beyond which work waits for its
   * turn. What each client has for itself: `client`; the numbers are those of the client that has used the largest share.
   */
  readonly kind: "room" | "turns" | "client";
  readonly used: number;
  readonly max: number;
}

/** The use by the client that uses most; `used` has a number for each client. */
export function mostUsed(bound: string, used: Iterable<number>, max: number): BoundUse {
  let most = 0;
  for (const each of used) most = Math.max(most, each);
  return { bound, kind: "client", used: most, max };
}
