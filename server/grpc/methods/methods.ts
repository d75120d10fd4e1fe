// The function of each method except Session, whose commands run the same functions.

import type { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { acquire } from "./acquire.ts";
import { capture } from "./capture.ts";
import { listLimits, setLimit } from "./limits.ts";
import { getLock, listLocks } from "./listings.ts";
import type { StreamMethod, UnaryMethod } from "./method.ts";
import { deleteLock, updateLock } from "./records.ts";
import { forceRelease, release, renew } from "./renew-and-release.ts";
import { waitInQueue } from "./wait-in-queue.ts";
import { watchLocks } from "./watch-locks.ts";

type Described = Omit<(typeof LockService)["method"], "session">;

export const METHODS: {
  readonly [Name in keyof Described]: Described[Name]["methodKind"] extends "unary"
    ? UnaryMethod<Described[Name]["input"], Described[Name]["output"]>
    : StreamMethod<Described[Name]["input"], Described[Name]["output"]>;
} = {
  acquire,
  waitInQueue,
  renew,
  release,
  setLimit,
  getLock,
  listLocks,
  watchLocks,
  listLimits,
  forceRelease,
  updateLock,
  capture,
  deleteLock,
};
