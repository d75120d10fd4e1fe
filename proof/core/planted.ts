// Faults to plant into the core, as textual patches. A fast test checks that each patch still applies, and a slow one that
// the property tests find each fault.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const CORE = fileURLToPath(new URL("../../server/core/", import.meta.url));

export interface Mutant {
  readonly fault: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The histories that show it soonest: of claims for several locks, or of a queue that is shared or has head starts. */
  readonly of?: "sets" | "shares" | "head starts";
}

export const MUTANTS: readonly Mutant[] = [
  {
    fault: "keeps every ended claim as long as those of a name of another class",
    file: "transitions.ts",
    from: "policy.keptForUs(lock.name)",
    to: 'policy.keptForUs("")',
  },
  {
    fault: "notes one forced release for all claims that it ends",
    file: "decide.ts",
    from: '    draft.noted.push({ ...note, kind: "forced_release"',
    to: '    if (claim === chosen[0]) draft.noted.push({ ...note, kind: "forced_release"',
  },
  {
    fault: "notes a limit as what it was before",
    file: "decide.ts",
    from: "to: settingsText(lock)",
    to: "to: settingsText(from)",
  },
  {
    fault: "grants at once without looking at the queue",
    file: "decide.ts",
    from: "there.lock.waiting === 0 && fits(",
    to: "fits(",
  },
  {
    fault: "makes a second claim for a request id whose claim has ended",
    file: "decide.ts",
    from: "if (known) {",
    to: 'if (known && known.state !== "ended") {',
  },
  {
    fault: "forgets how many waiters stand before the one in the queue that has just come",
    file: "decide.ts",
    from: "permitsAhead: waitingPermits",
    to: "permitsAhead: waiting",
  },
  {
    fault: "lets a lease run on after its end",
    file: "transitions.ts",
    from: 'if (claim.state === "ended" ||',
    to: 'if (claim.state !== "waiting" ||',
  },
  {
    fault: "grants to a waiter that has lapsed",
    file: "transitions.ts",
    from: 'if (claim.state === "ended" ||',
    to: 'if (claim.state !== "held" ||',
  },
  {
    fault: "lets a small request pass a heavy one at the head of the queue",
    file: "levels.ts",
    from: '    if (fate === "waits") return;',
    to:
      '    if (fate === "waits") {\n' +
      "      const next = draft.queue[1];\n" +
      "      if (!next || next.members !== null || fits(lock, draft.limit.limit, head)) return;\n" +
      '      if (fateOf(draft, next) !== "ready") return;\n' +
      "      draft.queue.splice(1, 1);\n      draft.queue.unshift(next);\n" +
      "      occupy(draft, next);\n      enter(draft, next, null);\n      continue;\n    }",
  },
  {
    fault: "stops at the last waiter that it has read",
    file: "levels.ts",
    from: "draft.unfinished = !draft.queueComplete && draft.limit.limit > 0;",
    to: "draft.unfinished = false;",
  },
  {
    fault: "takes a lease to be valid in the microsecond in which it ends",
    file: "transitions.ts",
    from: "claim.deadlineUs > clock.atLeastUs",
    to: "claim.deadlineUs >= clock.atLeastUs",
  },
  {
    fault: "ends a lease that may not have ended yet by a clock that is not known exactly",
    file: "transitions.ts",
    from: "claim.deadlineUs > clock.atLeastUs",
    to: "claim.deadlineUs > clock.nowUs",
  },
  {
    fault: "grants when the pause after a fail-over may not be over yet",
    file: "transitions.ts",
    from: "grantsFromUs <= clock.atLeastUs",
    to: "grantsFromUs <= clock.nowUs",
  },
  {
    fault: "gives leases from before they may have been asked for",
    file: "draft.ts",
    from: "nowUs: rows.nowUs",
    to: "nowUs: rows.atLeastUs",
  },
  {
    fault: "takes a short step of the clock for time that has passed",
    file: "transitions.ts",
    from: "clock.atLeastUs - clock.skippedUs",
    to: "clock.atLeastUs",
  },
  {
    fault: "takes a jump of the clock for time that has passed",
    file: "transitions.ts",
    from: "Math.max(clock.jumpedAtUs ?? 0, failOver.atUs)",
    to: "failOver.atUs",
  },
  {
    fault: "takes leases whose renewal a fail-over may have lost for expired",
    file: "transitions.ts",
    from: "Math.max(clock.jumpedAtUs ?? 0, failOver.atUs)",
    to: "(clock.jumpedAtUs ?? 0)",
  },
  {
    fault: "grants to waiters while leases may be held that a fail-over has lost",
    file: "levels.ts",
    from: '  if (!mayGrant(draft)) return "waits";',
    to: '  if (lock.record !== null && !mayGrant(draft)) return "waits";',
  },
  {
    fault: "grants to new requests while leases may be held that a fail-over has lost",
    file: "decide.ts",
    from: "return isFree && mayGrant(draft) && isAllowed(",
    to: "return isFree && isDueNow(lock, clock) && isAllowed(",
  },
  {
    fault: "goes on with the old tokens after a fail-over",
    file: "lock.ts",
    from: "last >= first ? last + 1n : first",
    to: "last >= first ? last + 1n : last + 1n",
  },
  {
    fault: "takes the places of waiters whose replica has not come back yet",
    file: "transitions.ts",
    from: 'claim.state === "waiting" && isKept(',
    to: 'claim.state === "ended" && isKept(',
  },
  {
    fault: "keeps a place after a jump of the clock for as long as the lease that it waits for",
    file: "transitions.ts",
    from: "heldForUs(claim, policy) : policy.attachedForUs",
    to: "heldForUs(claim, policy) : (claim.ttlUs ?? policy.attachedForUs)",
  },
  {
    fault: "keeps a lease that was cut short for its whole time to live after a jump of the clock",
    file: "transitions.ts",
    from: "provisional ? Math.min(wholeUs, graceUs) : wholeUs;",
    to: "wholeUs;",
  },
  {
    fault: "takes any secret for the right one",
    file: "claim.ts",
    from: "return difference === 0;",
    to: "return true;",
  },
  {
    fault: "does not find the first of two requests with one id",
    file: "decide-batch.ts",
    from: "if (claim) byRequestId.set(",
    to: "if (!claim) byRequestId.set(",
  },
  {
    fault: "goes on with commands for a lock without ending what is due there",
    file: "decide-batch.ts",
    from: "    endDue(draft);\n",
    to: "",
  },
  {
    fault: "stops where more waiters have to be read",
    file: "decide-batch.ts",
    from: "if (draft.unfinished) again",
    to: "if (!draft) again",
  },
  {
    fault: "does not write what has changed",
    file: "decide-batch.ts",
    from: "for (const claim of draft.changed) changed.push(claim)",
    to: "changed.push()",
  },
  {
    fault: "lets one permit too many be held",
    file: "limit.ts",
    from: "lock.heldPermits + asked.permits <= limit",
    to: "lock.heldPermits + asked.permits <= limit + 1",
  },
  {
    fault: "lets a reader in beside a writer",
    file: "limit.ts",
    from: "if (lock.exclusiveHolders > 0) return false;",
    to: 'if (lock.exclusiveHolders > 0 && asked.mode !== "shared") return false;',
  },
  {
    fault: "does not pause readers",
    file: "limit.ts",
    from: "if (limit === 0) return false;",
    to: 'if (limit === 0 && asked.mode !== "shared") return false;',
  },
  {
    fault: "does not pause spends",
    file: "limit.ts",
    from: "if (limit === 0) return false;",
    to: "if (limit === 0 && asked.ttlUs !== SPENDS) return false;",
  },
  {
    fault: "lets a spend wait for room beside holders",
    file: "limit.ts",
    from: "if (asked.ttlUs === SPENDS) return true;",
    to: "",
  },
  {
    fault: "takes the limit for one of what a spend may take",
    file: "limit.ts",
    from: " && asked.ttlUs !== SPENDS",
    to: "",
  },
  {
    fault: "takes the shortest pattern",
    file: "limit.ts",
    from: "rule.prefix.length > best.prefix.length",
    to: "rule.prefix.length < best.prefix.length",
  },
  {
    fault: "gives the last token again when a lease comes after a wait",
    file: "transitions.ts",
    from: "lock.lastToken = nextNumber(",
    to: "if (claim.deadlineUs === null) lock.lastToken = nextNumber(",
  },
  {
    fault: "gives a waiter whose stream is known its whole time to live",
    file: "transitions.ts",
    from: "Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs)",
    to: "claim.replica !== null ? wholeEnd(claim, draft.nowUs) : graceEndUs",
  },
  {
    fault: "counts the time to live from when the lease is fetched",
    file: "transitions.ts",
    from: "wholeEnd(claim, Math.max(grantedAtUs, draft.clock.jumpedAtUs ?? 0))",
    to: "wholeEnd(claim, draft.nowUs)",
  },
  {
    fault: "takes a lease without end for claimed that nobody has come for",
    file: "transitions.ts",
    from: "claim.provisional = claim.deadlineUs === null;",
    to: "",
  },
  {
    fault: "takes every grant to have been fetched",
    file: "transitions.ts",
    from: "claim.provisional = !isSpend(claim);",
    to: "claim.provisional = false;",
  },
  {
    fault: "cuts no lease without end to the grace period",
    file: "transitions.ts",
    from: "Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs)",
    to: "claim.ttlUs === null ? null : Math.min(graceEndUs, draft.nowUs + claim.ttlUs)",
  },
  {
    fault: "prolongs a lease that runs out within the grace period",
    file: "transitions.ts",
    from: "Math.min(graceEndUs, wholeEnd(claim, draft.nowUs) ?? graceEndUs)",
    to: "graceEndUs",
  },
  {
    fault: "lets signs of life prolong the longest wait",
    file: "transitions.ts",
    from: "claim.waitUntilUs === null ? untilUs : Math.min(untilUs, claim.waitUntilUs)",
    to: "untilUs",
  },
  {
    fault: "does not write a sign of life",
    file: "transitions.ts",
    from: "claim.deadlineUs ?? 0));\n  }\n  touch(draft, claim);",
    to: "claim.deadlineUs ?? 0));\n  }",
  },
  {
    fault: "keeps a waiter that gave up in the known head of the queue",
    file: "transitions.ts",
    from: "if (at >= 0) draft.queue.splice(at, 1);\n  leaveGroup",
    to: "if (at >= 0) draft.queue.slice(at, 1);\n  leaveGroup",
  },
  {
    fault: "counts a released lease as released twice",
    file: "decide.ts",
    from: 'if (claim.state === "ended") {\n    const ownDoing',
    to: 'if (claim.state === "waiting") {\n    const ownDoing',
  },
  {
    fault: "revives an expired lease",
    file: "decide.ts",
    from: 'if (claim.state === "held") prolong',
    to: 'if (claim.state !== "waiting") prolong',
  },
  {
    fault: "lets a replica end the wait of a client that another one has by now",
    file: "decide.ts",
    from: "claim.replica === command.replica",
    to: "command.replica > 0n",
  },
  {
    fault: "sets a limit without looking at the expected version",
    file: "decide.ts",
    from: "if (expectedVersion !== lock.limitVersion)",
    to: "if (expectedVersion > lock.limitVersion)",
  },
  {
    fault: "leaves what a command has freed to the next one",
    file: "decide.ts",
    from: "const outcome = verb.decide(draft, command, known);\n  grantWaiters(draft);",
    to: "const outcome = verb.decide(draft, command, known);",
  },
  {
    fault: "gives up a place for a release that speaks of a run",
    file: "decide.ts",
    from: "else if (result || command.failed) return",
    to: "else if (command.failed) return",
  },
  {
    fault: "grants to waiters before the lock is due",
    file: "levels.ts",
    from: '  if (!mayGrant(draft)) return "waits";',
    to: '  if (draft.failOver.grantsFromUs > clock.atLeastUs) return "waits";',
  },
  {
    fault: "grants to new requests before the lock is due",
    file: "decide.ts",
    from: "return isFree && mayGrant(draft) && isAllowed(",
    to: "return isFree && draft.failOver.grantsFromUs <= clock.atLeastUs && isAllowed(",
  },
  {
    fault: "grants when the lock may not be due yet by a clock that is not known exactly",
    file: "lock.ts",
    from: "record.notBeforeUs <= atLeastUs",
    to: "record.notBeforeUs <= atLeastUs + 50_000",
  },
  {
    fault: "leaves waiters of an exhausted lock in its queue",
    file: "levels.ts",
    from: '  if (isExhausted(lock)) return "exhausted";',
    to: '  if (isExhausted(lock)) return mayGrant(draft) ? "exhausted" : "waits";',
  },
  {
    fault: "grants to waiters without an attempt",
    file: "levels.ts",
    from: '  if (isExhausted(lock)) return "exhausted";',
    to: '  if (isExhausted(lock) && head.ttlUs === null) return "exhausted";',
  },
  {
    fault: "lets new requests wait for a lock without attempts",
    file: "decide.ts",
    from: "(isExhausted(one.draft.lock) ?",
    to: "(isExhausted(one.draft.lock) && !command.mayWait ?",
  },
  {
    fault: "takes no attempt for a grant",
    file: "lock.ts",
    from: "attemptsLeft: record.attemptsLeft - 1",
    to: "attemptsLeft: record.attemptsLeft",
  },
  {
    fault: "asks for the status when a request comes, and not when it is granted",
    file: "levels.ts",
    from: "  if (!isInWantedStatus(lock, head.terms)) return",
    to: "  if (!lock) return",
  },
  {
    fault: "grants new requests in a status that they do not want",
    file: "decide.ts",
    from: "!isInWantedStatus(draft.lock, command.terms ?? null)",
    to: "!draft.lock",
  },
  {
    fault: "takes a lock without a record for one without a status",
    file: "lock.ts",
    from: "terms.ifStatus.includes(statusOf(lock))",
    to: "(lock.record !== null && terms.ifStatus.includes(statusOf(lock)))",
  },
  {
    fault: "sets the interval of a lease that was lost",
    file: "lock.ts",
    from: "? latest(lostUntil(terms, endedAtUs), backsOffUntilUs)",
    to: "? (lostUntil(terms, endedAtUs) ?? releasedUntil(terms, null, grantedAtUs, endedAtUs, backsOffUntilUs))",
  },
  {
    fault: "delays the next grant where a lease was released",
    file: "lock.ts",
    from: "isLost\n      ? latest(lostUntil(terms, endedAtUs), backsOffUntilUs)",
    to: "terms?.lockDelayUs\n      ? latest(lostUntil(terms, endedAtUs), backsOffUntilUs)",
  },
  {
    fault: "lets a lock rest as long after each failure as after the first",
    file: "lock.ts",
    from: "2 ** Math.min(failures - 1, 62)",
    to: "2 ** 0",
  },
  {
    fault: "lets a lock that has failed for long rest for ever longer",
    file: "lock.ts",
    from: "return Math.min(maxUs, firstUs *",
    to: "return Math.max(firstUs, firstUs *",
  },
  {
    fault: "does not back off after a crash",
    file: "lock.ts",
    from: "? latest(lostUntil(terms, endedAtUs), backsOffUntilUs)",
    to: "? lostUntil(terms, endedAtUs)",
  },
  {
    fault: "counts failures also after a success",
    file: "lock.ts",
    from: 'end === "released" ? 0 : (record?.failures ?? 0) + 1',
    to: '(record?.failures ?? 0) + (end === "released" ? 0 : 1)',
  },
  {
    fault: "takes a run that failed for the last success",
    file: "lock.ts",
    from: 'const lastSuccess = end === "released" ?',
    to: "const lastSuccess = !isLost ?",
  },
  {
    fault: "counts the interval from the end of a lease",
    file: "lock.ts",
    from: "grantedAtUs + terms.minIntervalUs",
    to: "endedAtUs + terms.minIntervalUs",
  },
  {
    fault: "keeps to the interval where a release has set another time",
    file: "lock.ts",
    from: "if (result?.coolDownUs !== undefined) return",
    to: "if (result?.coolDownUs !== undefined && !terms?.minIntervalUs) return",
  },
  {
    fault: "brings forward what an operator has set for later",
    file: "lock.ts",
    from: "return Math.max(a, b);",
    to: "return b;",
  },
  {
    fault: "leaves a lost task in the status that it had",
    file: "lock.ts",
    from: "(isLost ? terms?.statusIfLost : result?.status)",
    to: "(isLost ? undefined : result?.status)",
  },
  {
    fault: "sets the status for losses at a release",
    file: "lock.ts",
    from: "(isLost ? terms?.statusIfLost : result?.status)",
    to: "(result?.status ?? terms?.statusIfLost)",
  },
  {
    fault: "forgets what a release says of attempts",
    file: "lock.ts",
    from: "isLost ? undefined : result?.attemptsLeft",
    to: "isLost ? result?.attemptsLeft : undefined",
  },
  {
    fault: "takes a lease that nobody came for to be a run",
    file: "lock.ts",
    from: "if (isGivenBack(endReason)) return endReason;",
    to: "if (endReason === null || true) return endReason as RunEnd;",
  },
  {
    fault: "takes a short lease that nobody came for to be a run",
    file: "lock.ts",
    from: "return !provisional && (",
    to: "return (",
  },
  {
    fault: "calls a short lease that nobody came for expired",
    file: "transitions.ts",
    from: 'return claim.provisional ? "lapsed" : "expired";',
    to: 'return claim.provisional && claim.ttlUs === null ? "lapsed" : "expired";',
  },
  {
    fault: "keeps the attempt of a lease that nobody has used",
    file: "lock.ts",
    from: "attemptsLeft: record.attemptsLeft + 1",
    to: "attemptsLeft: record.attemptsLeft",
  },
  {
    fault: "gives back the attempt of a lease of which somebody may have heard",
    file: "lock.ts",
    from: 'ended.endReason === "cancelled" ? withAttemptBack(lock, ended, failOver) : record',
    to: "withAttemptBack(lock, ended, failOver)",
  },
  {
    fault: "gives back an attempt to those that were set after the grant",
    file: "lock.ts",
    from: " || fencingToken <= record.attemptsSince",
    to: "",
  },
  {
    fault: "forgets that a release has set the attempts",
    file: "lock.ts",
    from: "setAttempts !== undefined ? lastToken : ",
    to: "",
  },
  {
    fault: "makes a record for who asks nothing of it",
    file: "lock.ts",
    from: "record === null && terms === null && result === null",
    to: "record === null && terms === null && result === undefined",
  },
  {
    fault: "changes a record under its version",
    file: "lock.ts",
    from: "nextNumber(record?.version ?? recordFloor, failOver)",
    to: "record?.version ?? nextNumber(recordFloor, failOver)",
  },
  {
    fault: "begins the versions of a record anew after a deletion",
    file: "decide.ts",
    from: "lock.recordFloor = record.version;",
    to: "",
  },
  {
    fault: "leaves those waiting who wait for the time that a lock remembers",
    file: "transitions.ts",
    from: "return lock.record?.notBeforeUs ?? null;",
    to: "return lock.waiting > 1 ? (lock.record?.notBeforeUs ?? null) : null;",
  },
  {
    fault: "looks again and again at a lock that is due and held",
    file: "transitions.ts",
    from: "if (!isDueNow(lock, clock)) return lock.record?.notBeforeUs ?? null;",
    to: "if (lock.record?.notBeforeUs) return lock.record.notBeforeUs;",
  },
  {
    fault: "updates a record without looking at the expected version",
    file: "decide.ts",
    from: 'if (expectedVersion !== version) return { kind: "version_mismatch", version };\n  const isNewRecord',
    to: "const isNewRecord",
  },
  {
    fault: "deletes the record of a lock that is waited for",
    file: "decide.ts",
    from: "lock.holders > 0 || lock.waiting > 0",
    to: "lock.holders > 0",
  },
  {
    fault: "ends leases that run out together in any order",
    file: "transitions.ts",
    from: "of inOrder(due)",
    to: "of inOrder(due).reverse()",
  },
  {
    fault: "grants to new requests faster than the rate",
    file: "decide.ts",
    from: "mayGrant(draft) && isAllowed(rate, lock.rateUntilUs, permits, clock);",
    to: "mayGrant(draft);",
  },
  {
    fault: "grants to waiters faster than the rate",
    file: "levels.ts",
    from: 'return isAllowed(rate, lock.rateUntilUs, head.permits, clock) ? "ready" : "waits";',
    to: 'return "ready";',
  },
  {
    fault: "grants when the rate may not allow it yet by a clock that is not known exactly",
    file: "rate.ts",
    from: "allowedFromUs(rate, untilUs, permits) <= atLeastUs;",
    to: "allowedFromUs(rate, untilUs, permits) <= atLeastUs + 50_000;",
  },
  {
    fault: "takes one permit of the rate, however many a claim has",
    file: "transitions.ts",
    from: "afterTaking(rate, lock.rateUntilUs, claim.permits, clock)",
    to: "afterTaking(rate, lock.rateUntilUs, 1, clock)",
  },
  {
    fault: "lets permits of the rate gather for longer than a burst",
    file: "rate.ts",
    from: "Math.max(untilUs, atLeastUs) + backInUs",
    to: "untilUs + backInUs",
  },
  {
    fault: "takes of the rate again when a spend is repeated",
    file: "decide.ts",
    from: 'else if (claim.state === "held") confirm(draft, claim);',
    to:
      'else if (claim.state === "held") confirm(draft, claim);\n' +
      "  else if (isSpend(claim) && draft.rate) draft.lock.rateUntilUs += draft.rate.perUs;",
  },
  {
    fault: "makes a second claim for a request id whose claim has ended in the same transaction",
    file: "decide-batch.ts",
    from: 'outcome.kind === "waiting" || outcome.kind === "ended"',
    to: 'outcome.kind === "waiting"',
  },
  {
    fault: "gives a lease to a request that has spent before",
    file: "decide.ts",
    from: "isSpend(claim) === isSpend(command)",
    to: "claim !== null",
  },
  {
    fault: "keeps a spend of a waiter as a lease",
    file: "transitions.ts",
    from: 'if (isSpend(claim)) end(draft, claim, "spent", { caller: atOnce?.caller });',
    to: 'if (isSpend(claim) && atOnce) end(draft, claim, "spent", { caller: atOnce.caller });',
  },
  {
    fault: "refills the rate when a setting changes",
    file: "transitions.ts",
    from: "correctedUntilUs(draft.rate, lock.rateUntilUs, clock)",
    to: "0",
  },
  {
    fault: "lets what a larger burst has allowed keep waiters",
    file: "rate.ts",
    from: "return Math.min(untilUs, nowUs + wholeUs(rate));",
    to: "return untilUs;",
  },
  {
    fault: "leaves waiters in the queue that want more than a burst",
    file: "levels.ts",
    from: " || exceedsBurst(rate, head.permits)",
    to: "",
  },
  {
    fault: "lets new requests wait that want more than a burst",
    file: "decide.ts",
    from: "whyNever(one, asking) ??",
    to: "(command.mayWait && one.draft.rate ? null : whyNever(one, asking)) ??",
  },
  {
    fault: "does not say when the rate lets the first waiter be granted",
    file: "transitions.ts",
    from: "return fromUs > clock.atLeastUs ? fromUs : null;",
    to: "return null;",
  },
  {
    fault: "looks at a lock for its rate while its first waiter does not fit",
    file: "transitions.ts",
    from: "if (!rate || !head || !fits(lock, limit.limit, head)) return null;",
    to: "if (!rate || !head) return null;",
  },
  {
    fault: "takes the rate of any pattern that matches",
    file: "limit.ts",
    from: 'longestRule(name, rules, "rate")',
    to: "rules.find((rule) => rule.rate !== null && isUnder(name, rule))",
  },
  {
    fault: "removes the rate when only the limit changes",
    file: "limit.ts",
    from: "rate = now.rate, queueRules",
    to: "rate = null, queueRules",
  },
  {
    fault: "forgets those ahead in how long the rate keeps a waiter",
    file: "decide.ts",
    from: "rateWaitUs(rate, lock.rateUntilUs, waitingPermits + permits, nowUs)",
    to: "rateWaitUs(rate, lock.rateUntilUs, permits, nowUs)",
  },
  {
    fault: "gives several locks to who is first at one of them",
    of: "sets",
    file: "levels.ts",
    from: 'return fate !== "ready" || parts.every(isReady);',
    to: 'return fate !== "ready" || parts.some(isReady);',
  },
  {
    fault: "holds what is free of several locks while it waits for the others",
    of: "sets",
    file: "levels.ts",
    from: 'return fate !== "ready" || parts.every(isReady);',
    to: `if (fate !== "ready" || parts.every(isReady)) return true;
  for (const part of parts.filter(isReady)) {
    occupy(part.draft, part.claim);
    touch(part.draft, part.claim);
  }
  return false;`,
  },
  {
    fault: "lets later claims pass one for several locks",
    of: "sets",
    file: "levels.ts",
    from: "    if (head.members !== null && !isWholeAndReady(draft, head, fate)) return;",
    to: `    if (head.members !== null && !isWholeAndReady(draft, head, fate)) {
      const next = draft.queue[1];
      if (!next || next.members !== null || fateOf(draft, next) !== "ready") return;
      draft.queue.splice(1, 1);
      draft.queue.unshift(next);
      occupy(draft, next);
      enter(draft, next, null);
      continue;
    }`,
  },
  {
    fault: "gives back two of several locks",
    of: "sets",
    file: "transitions.ts",
    from: "  for (const part of wholeOrThrow(draft, claim)) {\n    endRow(",
    to: `  const parts = wholeOrThrow(draft, claim);
  for (const part of reason === "released" ? parts.slice(0, 2) : parts) {
    endRow(`,
  },
  {
    fault: "renews one of several locks",
    of: "sets",
    file: "transitions.ts",
    from: "  showRenewal(claim);\n  touch(draft, claim);\n  if (claim.members !== null)",
    to: "  showRenewal(claim);\n  touch(draft, claim);\n  if (claim.members === undefined)",
  },
  {
    fault: "does not write that a claim for several locks must be looked at",
    of: "sets",
    file: "transitions.ts",
    from: "  if (left.length > 0) return clock.atLeastUs;\n",
    to: "",
  },
  {
    fault: "grants nothing at a lock that a claim for several has left in the same decision",
    of: "sets",
    file: "decide-batch.ts",
    from: "  settle(batch);\n",
    to: "",
  },
  {
    fault: "gives one token to several locks",
    of: "sets",
    file: "transitions.ts",
    from: "    fencingToken: (parts[at] as Part).claim.fencingToken,",
    to: "    fencingToken: (parts[at > 0 ? 0 : at] as Part).claim.fencingToken,",
  },
  {
    fault: "grants several locks at once where somebody waits for one of them",
    of: "sets",
    file: "decide.ts",
    from: "const isGranted = asking.every(isGrantable);",
    to: "const isGranted = isGrantable(asking[0] as AskingAt);",
  },
  {
    fault: "looks at no set that was first before, whatever has ended beside it",
    of: "sets",
    file: "levels.ts",
    from: "if (head !== draft.known || hasMoved(draft)) leave(draft, head);",
    to: "if (head !== draft.known) leave(draft, head);",
  },
  {
    fault: "takes a set for one that it has looked at, although a mark says that it has not",
    of: "sets",
    file: "draft.ts",
    from: "known: mayHelp || lock.wakesAtUs !== null ? null",
    to: "known: mayHelp ? null",
  },
  {
    fault: "takes a set that fits since a command for one that it has looked at",
    of: "sets",
    file: "draft.ts",
    from: "known: mayHelp || lock.wakesAtUs !== null ? null",
    to: "known: lock.wakesAtUs !== null ? null",
  },
  {
    fault: "ends the newest waiter for a newer request, and not the one that has waited longest",
    file: "decide.ts",
    from: "let longest = queue[0]; longest && lock.waiting >= max; longest = queue[0]",
    to: "let longest = queue.at(-1); longest && lock.waiting >= max; longest = queue.at(-1)",
  },
  {
    fault: "ends one waiter for a newer request, however many are too many",
    file: "decide.ts",
    from: "lock.waiting >= max; longest = queue[0]",
    to: "lock.waiting >= max; longest = undefined",
  },
  {
    fault: "lets one more wait than queue rules allow",
    file: "decide.ts",
    from: "if (lock.waiting < max) return null;",
    to: "if (lock.waiting <= max) return null;",
  },
  {
    fault: "lets somebody without the right end the wait of another",
    file: "decide.ts",
    from: "command.caller?.maySupersede?.(lock.name) ?? true",
    to: "true",
  },
  {
    fault: "ends a holder for a newer request, where one is known",
    file: "decide.ts",
    from: "let longest = queue[0]; longest && lock.waiting >= max;",
    to: 'let longest = draft.claims.find(({ state }) => state === "held") ?? queue[0]; longest && lock.waiting >= max;',
  },
  {
    fault: "gives a superseded request a new place when it is repeated",
    file: "decide.ts",
    from: "if (known) {",
    to: 'if (known && known.endReason !== "superseded") {',
  },
  {
    fault: "counts for a share what was granted, also when it has ended",
    of: "shares",
    file: "queue-rules.ts",
    from: 'claim.lockId === lockId && claim.state !== "ended" && placeOf',
    to: "claim.lockId === lockId && placeOf",
  },
  {
    fault: "counts nothing of what groups hold",
    of: "shares",
    file: "queue-rules.ts",
    from: "held.set(group, (held.get(group) ?? 0) + holder.permits);",
    to: "held.set(group, 0);",
  },
  {
    fault: "gives all of a lock to the group that was first",
    of: "shares",
    file: "shares.ts",
    from: "if (has >= least) continue;",
    to: "if (next) continue;",
  },
  {
    fault: "lets a group keep its turn when it was granted",
    of: "shares",
    file: "shares.ts",
    from: "isGranted ? turnFrom(draft.lock, draft.lock.nextTicket) : turn",
    to: "turn",
  },
  {
    fault: "lets a group lose its turn when its first waiter gives up",
    of: "shares",
    file: "shares.ts",
    from: "isGranted ? turnFrom(draft.lock, draft.lock.nextTicket) : turn",
    to: "turnFrom(draft.lock, draft.lock.nextTicket)",
  },
  {
    fault: "counts each holder of a shared lock as one permit",
    of: "shares",
    file: "queue-rules.ts",
    from: "held.set(group, (held.get(group) ?? 0) + holder.permits);",
    to: "held.set(group, (held.get(group) ?? 0) + 1);",
  },
  {
    fault: "says who is next when it has read only part of the front",
    of: "shares",
    file: "shares.ts",
    from: "return frontComplete || front >= QUEUE_HEAD_MAX ? next : undefined;",
    to: "return next;",
  },
  {
    fault: "takes the first of a group that it knows for the next one, also behind what was not read",
    of: "shares",
    file: "shares.ts",
    from: "(upTo === null || claim.ticketNumber <= upTo)",
    to: "true",
  },
  {
    fault: "leaves those that wait in their order when another one is set",
    of: "shares",
    file: "shares.ts",
    from: "queue.sort(byOrder);\n  }\n  lock.sharedBy",
    to: "}\n  lock.sharedBy",
  },
  {
    fault: "gives a request the head start that it asks for, and not the most that is allowed",
    of: "head starts",
    file: "transitions.ts",
    from: "Math.min(headStartUs, headStartMaxUs)",
    to: "headStartUs",
  },
  {
    fault: "forgets head starts",
    of: "head starts",
    file: "shares.ts",
    from: "BigInt(lock.orderKeyUs - headStartUs)",
    to: "BigInt(lock.orderKeyUs)",
  },
];

/** The patch of one of them, for a copy of the whole server. */
export function corePatch(fault: string): Omit<Mutant, "fault"> {
  const mutant = MUTANTS.find((each) => each.fault === fault);
  if (!mutant) throw new Error(`No core ${fault}.`);
  const { file, from, to } = mutant;
  return { file: `core/${file}`, from, to };
}

/** The text of the mutant's file in `core` with the fault planted. Throws if the patch does not apply exactly once. */
export async function patched(core: string, { fault, file, from, to }: Mutant): Promise<string> {
  const source = await readFile(join(core, file), "utf8");
  const places = source.split(from).length - 1;
  if (places !== 1)
    throw new Error(`The patch "${fault}" must apply once to ${file}, but it applies ${places} times.`);
  return source.replace(from, () => to);
}
