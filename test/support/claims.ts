// A claim, its request, a free lock, and an empty record, for the tests of code that is given them.

import type { Claim, Terms } from "../../server/core/claim.ts";
import type { Acquire } from "../../server/core/command.ts";
import type { Lock, LockRecord } from "../../server/core/lock.ts";

export const CLAIM: Claim = {
  lockId: 1n,
  ticketNumber: 1n,
  secret: "secret-of-this-claim__",
  requestId: "",
  mode: "permit",
  permits: 1,
  owner: "",
  principal: "",
  labels: {},
  requestedAtUs: 0,
  waitUntilUs: null,
  terms: null,
  state: "held",
  turn: null,
  group: null,
  levels: null,
  members: null,
  ttlUs: null,
  deadlineUs: null,
  replica: null,
  provisional: false,
  fencingToken: 1n,
  grantedAtUs: 1_000_000,
  endedAtUs: 4_000_000,
  endReason: "expired",
  endNote: "",
  endedBy: "",
};

export const ACQUIRE: Acquire = {
  verb: "acquire",
  name: "etl/orders",
  mode: "permit",
  permits: 1,
  ttlUs: null,
  requestId: "",
  secret: CLAIM.secret,
  owner: "",
  labels: {},
  mayWait: false,
  maxWaitUs: null,
  replica: null,
};

/** Never taken so far. */
export const FREE_LOCK: Lock = {
  id: 1n,
  name: "etl/load",
  limit: null,
  rate: null,
  queueRules: null,
  sharedBy: null,
  orderKeyUs: 0,
  limitVersion: 0n,
  limitReason: "",
  rateUntilUs: 0,
  wakesAtUs: null,
  nextTicket: 1n,
  lastToken: 0n,
  heldPermits: 0,
  sharedHolders: 0,
  exclusiveHolders: 0,
  holders: 0,
  waiting: 0,
  waitingPermits: 0,
  entering: 0,
  enteringPermits: 0,
  counting: null,
  changeMark: 0n,
  recordFloor: 0n,
  firstHolder: null,
  record: null,
  revision: 0n,
};

export const RECORD: LockRecord = {
  notBeforeUs: null,
  attemptsLeft: null,
  attemptsSince: 0n,
  status: "",
  lastRun: null,
  lastSuccess: null,
  failures: 0,
  version: 1n,
  principal: "",
};

export const TERMS: Terms = { minIntervalUs: null, lockDelayUs: null, statusIfLost: null, ifStatus: [] };
