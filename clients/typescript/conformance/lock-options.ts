// Converts the fields of a command to the client's options for a lock or a capture.

import type {
  CaptureOptions,
  LockOptions,
  Place,
  RecordOptions,
  SpendOptions,
  Waiting,
} from "../src/index.ts";
import type { Command } from "./verb.ts";

interface Tell {
  readonly position: (place: Place) => void;
  readonly waiting: (waiting: Waiting) => void;
}

export function lockOptionsOf(asked: Command, signal: AbortSignal, tell: Tell): LockOptions {
  const { mode } = asked;
  return { ...spendOptionsOf(asked, signal, tell), ...(mode !== undefined && { mode }) };
}

/** Passes on what only a lease can have, too: the client must refuse it. */
export function spendOptionsOf(asked: Command, signal: AbortSignal, tell: Tell): SpendOptions {
  const { permits, headStartMs, positionIntervalMs, positions } = asked;
  return {
    ...leaseOptionsOf(asked, signal),
    ...(permits !== undefined && { permits }),
    ...(headStartMs !== undefined && { headStart: headStartMs }),
    ...(positionIntervalMs !== undefined && { positionInterval: positionIntervalMs }),
    ...(positions && { onPosition: tell.position }),
    onWaiting: tell.waiting,
  };
}

export function captureOptionsOf(asked: Command, signal: AbortSignal): CaptureOptions {
  const { prefix, names, count } = asked;
  return {
    ...leaseOptionsOf(asked, signal),
    ...(prefix !== undefined && { prefix }),
    ...(names && { names }),
    ...(count !== undefined && { count }),
  };
}

function leaseOptionsOf(asked: Command, signal: AbortSignal) {
  const { waitMs, ttlMs, marginMs, requestId, owner, labels, also } = asked;
  return {
    signal,
    ...(waitMs !== undefined && { wait: waitMs }),
    ...(ttlMs !== undefined && { ttl: ttlMs }),
    ...(marginMs !== undefined && { margin: marginMs }),
    ...(requestId !== undefined && { requestId }),
    ...(owner !== undefined && { owner }),
    ...(labels && { labels }),
    ...(also && { also }),
    ...recordOptionsOf(asked),
  };
}

function recordOptionsOf(asked: Command): RecordOptions {
  const { minIntervalMs, lockDelayMs, statusIfLost, ifStatus } = asked;
  return {
    ...backoffOf(asked),
    ...(minIntervalMs !== undefined && { minInterval: minIntervalMs }),
    ...(lockDelayMs !== undefined && { lockDelay: lockDelayMs }),
    ...(statusIfLost !== undefined && { statusIfLost }),
    ...(ifStatus && { ifStatus }),
  };
}

export function backoffOf({ backoff }: Command): Pick<RecordOptions, "backoff"> {
  if (backoff === undefined) return {};
  const { firstMs, maxMs } = backoff;
  return { backoff: { first: firstMs, ...(maxMs !== undefined && { max: maxMs }) } };
}
