// SetLimit, for one name and for a pattern, and ListLimits.

import { create } from "@bufbuild/protobuf";
import type { SetLimitResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import {
  ListLimitsRequestSchema,
  ListLimitsResponseSchema,
  SetLimitRequestSchema,
  SetLimitResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { LIMIT_DEFAULT } from "../../core/bounds.ts";
import type { Caller } from "../../core/command.ts";
import { isDraining, totalHeld } from "../../core/lock.ts";
import type { LimitSetting, LockEngine } from "../../engine/lock-engine.ts";
import type { UnaryVerb } from "../handler.ts";
import { versionMismatch } from "../messages/call-error.ts";
import { settingOf } from "../messages/messages.ts";
import { limitsTokenAfter } from "../messages/page-tokens.ts";
import { type CheckedListLimits, checkListLimits } from "../validate/listings.ts";
import { type CheckedSetLimit, checkSetLimit } from "../validate/set-limit.ts";
import type { Verbs } from "./answers.ts";

export function setLimitVerb({
  engine,
}: Verbs): UnaryVerb<typeof SetLimitRequestSchema, typeof SetLimitResponseSchema, CheckedSetLimit> {
  return {
    name: "SetLimit",
    input: SetLimitRequestSchema,
    output: SetLimitResponseSchema,
    check: checkSetLimit,
    run: (request, call) =>
      request.target.kind === "name"
        ? setForName(engine, request.target.name, request, call)
        : setForPattern(engine, request.target.prefix, request, call),
  };
}

export function listLimitsVerb({
  engine,
}: Verbs): UnaryVerb<typeof ListLimitsRequestSchema, typeof ListLimitsResponseSchema, CheckedListLimits> {
  return {
    name: "ListLimits",
    input: ListLimitsRequestSchema,
    output: ListLimitsResponseSchema,
    check: checkListLimits,
    async run({ pageSize, ...query }) {
      const settings: LimitSetting[] = [];
      // One more than wanted tells whether another page follows.
      for await (const setting of engine.limits({ ...query, max: pageSize + 1 })) {
        if (settings.length === pageSize) {
          return create(ListLimitsResponseSchema, {
            limits: settings.map(settingOf),
            nextPageToken: limitsTokenAfter(settings.at(-1) as LimitSetting),
          });
        }
        settings.push(setting);
      }
      return create(ListLimitsResponseSchema, { limits: settings.map(settingOf) });
    },
  };
}

async function setForName(
  engine: LockEngine,
  name: string,
  { limit, expectedVersion, reason }: CheckedSetLimit,
  caller: Caller,
): Promise<SetLimitResponse> {
  const { outcome } = await engine.setLimit(name, limit, expectedVersion, reason, caller);
  if (outcome.kind === "version_mismatch") throw versionMismatch(outcome.version);
  const { lock } = outcome;
  return create(SetLimitResponseSchema, {
    limit: outcome.limit.limit,
    version: outcome.version,
    heldPermits: BigInt(totalHeld(lock)),
    waiting: BigInt(lock.waiting),
    draining: isDraining(lock, outcome.limit.limit),
  });
}

async function setForPattern(
  engine: LockEngine,
  prefix: string,
  { limit, expectedVersion, reason }: CheckedSetLimit,
  caller: Caller,
): Promise<SetLimitResponse> {
  const answer = await engine.setLimitRule(prefix, limit, expectedVersion, reason, caller);
  if (answer.kind === "version_mismatch") throw versionMismatch(answer.version);
  return create(SetLimitResponseSchema, {
    limit: answer.limit ?? LIMIT_DEFAULT,
    version: answer.version,
    heldPermits: BigInt(answer.heldPermits),
    waiting: BigInt(answer.waiting),
    draining: answer.draining,
  });
}
