// Converts durations and instants between the protocol and JavaScript.

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";

/** Returns a duration, rounded to the microsecond, which is the server's resolution. */
export function durationOf(ms: number): { seconds: bigint; nanos: number } {
  const us = Math.round(ms * 1_000);
  const seconds = Math.floor(us / 1e6);
  return { seconds: BigInt(seconds), nanos: (us - seconds * 1e6) * 1_000 };
}

export function msOf({ seconds, nanos }: Duration): number {
  return Number(seconds) * 1_000 + nanos / 1e6;
}

export function timestampOf(date: Date): { seconds: bigint; nanos: number } {
  return durationOf(date.getTime());
}

export function dateOf({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1_000 + Math.floor(nanos / 1e6));
}
