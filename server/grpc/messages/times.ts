// Converts microseconds, in which the core counts, to protobuf's well-known types, exactly. Pure.

import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { Claim } from "../../core/claim.ts";

const SECOND_US = 1_000_000;

/** A span of time; a negative one becomes 0. */
export function durationMessage(spanUs: number): Duration {
  const us = Math.max(0, spanUs);
  const seconds = Math.floor(us / SECOND_US);
  return {
    $typeName: "google.protobuf.Duration",
    seconds: BigInt(seconds),
    nanos: Math.round(us - seconds * SECOND_US) * 1_000,
  };
}

/**
 * The remaining time of a lease, as every client gets it; null: it has no end. Never more than the lease was given for:
 * the clock may be read before the reading by which the lease was given, or be set back.
 */
export function leaseLeftUs(
  { deadlineUs, grantedAtUs, ttlUs, provisional }: Claim,
  nowUs: number,
): number | null {
  if (deadlineUs === null) return null;
  const givenUs = provisional && grantedAtUs !== null ? deadlineUs - grantedAtUs : ttlUs;
  return Math.max(0, Math.min(deadlineUs - nowUs, givenUs ?? Number.POSITIVE_INFINITY));
}

/** A span of time, or an instant as the time since 1970, in microseconds. */
export function spanUs({ seconds = 0n, nanos = 0 }: { seconds?: bigint; nanos?: number }): number {
  return Number(seconds) * 1e6 + nanos / 1e3;
}

/** An instant, in microseconds since 1970. */
export function timestampMessage(us: number): Timestamp {
  const seconds = Math.floor(us / SECOND_US);
  return {
    $typeName: "google.protobuf.Timestamp",
    seconds: BigInt(seconds),
    nanos: (us - seconds * SECOND_US) * 1_000,
  };
}

/** For a person: `14:03:20 UTC`, `yesterday at 14:03:20 UTC`, `2026-11-20 14:03:20 UTC`. */
export function instantText(us: number, nowUs: number): string {
  const [day = "", time = ""] = isoOf(us).split("T");
  const [today] = isoOf(nowUs).split("T");
  const at = `${time.slice(0, "14:03:20".length)} UTC`;
  if (day === today) return at;
  const [yesterday] = isoOf(nowUs - 86_400 * SECOND_US).split("T");
  return day === yesterday ? `yesterday at ${at}` : `${day} ${at}`;
}

/** Instants beyond what a Date can hold are as late as it can. */
function isoOf(us: number): string {
  return new Date(Math.min(us / 1_000, 8.64e15)).toISOString();
}

/** For a person: `450 ms`, `12 s`, `3 min`, `5 h`, `24 days`. */
export function spanText(spanUs: number): string {
  const seconds = Math.max(0, spanUs) / SECOND_US;
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}
