// SetLimit, for one name and for a pattern, and ListLimits.

import type { ListLimitsRequest, SetLimitRequest } from "#proto/rowlock/v1/lock_service_pb.js";
import { LIMIT_DEFAULT } from "../../core/bounds.ts";
import type { Caller } from "../../core/command.ts";
import { isDraining, totalHeld } from "../../core/lock.ts";
import type { LimitSetting, LockEngine } from "../../engine/lock-engine.ts";
import type { AnyCall } from "../handler.ts";
import { versionMismatch } from "../messages/call-error.ts";
import { limitSettingMessage } from "../messages/messages.ts";
import { limitsTokenAfter } from "../messages/page-tokens.ts";
import { checkListLimits } from "../validate/listings.ts";
import { type CheckedSetLimit, checkSetLimit } from "../validate/set-limit.ts";
import type { MethodContext } from "./method.ts";

/** Throws BAD_REQUEST, or VERSION_MISMATCH if the setting does not have the expected version. */
export async function setLimit({ engine }: MethodContext, message: SetLimitRequest, call: AnyCall) {
  const request = checkSetLimit(message);
  const { target } = request;
  return target.kind === "name"
    ? await setForName(engine, target.name, request, call)
    : await setForPattern(engine, target.prefix, request, call);
}

export async function listLimits({ engine }: MethodContext, message: ListLimitsRequest, call: AnyCall) {
  const { pageSize, ...query } = checkListLimits(message);
  const settings: LimitSetting[] = [];
  // One more than the page holds shows whether another page follows.
  for await (const setting of engine.limits({ ...query, max: pageSize + 1 }, call)) {
    if (settings.length === pageSize) {
      const nextPageToken = limitsTokenAfter(settings.at(-1) as LimitSetting);
      return { limits: settings.map(limitSettingMessage), nextPageToken };
    }
    settings.push(setting);
  }
  return { limits: settings.map(limitSettingMessage) };
}

async function setForName(
  engine: LockEngine,
  name: string,
  { limit, expectedVersion, reason }: CheckedSetLimit,
  caller: Caller,
) {
  const { outcome } = await engine.setLimit(name, limit, expectedVersion, reason, caller);
  if (outcome.kind === "version_mismatch") throw versionMismatch(outcome.version);
  const { lock } = outcome;
  return {
    limit: outcome.limit.limit,
    version: outcome.version,
    heldPermits: BigInt(totalHeld(lock)),
    waiting: BigInt(lock.waiting),
    draining: isDraining(lock, outcome.limit.limit),
  };
}

async function setForPattern(
  engine: LockEngine,
  prefix: string,
  { limit, expectedVersion, reason }: CheckedSetLimit,
  caller: Caller,
) {
  const answer = await engine.setLimitRule(prefix, limit, expectedVersion, reason, caller);
  if (answer.kind === "version_mismatch") throw versionMismatch(answer.version);
  return {
    limit: answer.limit ?? LIMIT_DEFAULT,
    version: answer.version,
    heldPermits: BigInt(answer.heldPermits),
    waiting: BigInt(answer.waiting),
    draining: answer.draining,
    serversBehind: answer.serversBehind,
  };
}
