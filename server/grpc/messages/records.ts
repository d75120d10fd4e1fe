// A lock's record as messages. Pure.

import { create } from "@bufbuild/protobuf";
import type {
  LastRun as LastRunMessage,
  LockRecord as LockRecordMessage,
} from "#proto/rowlock/v1/lock_pb.js";
import { LastRunSchema, LockRecordSchema } from "#proto/rowlock/v1/lock_pb.js";
import type { LastRun, LockRecord } from "../../core/record.ts";
import { reasonMessage } from "./reasons.ts";
import { timestampMessage } from "./times.ts";

export function recordMessage({
  notBeforeUs,
  attemptsLeft,
  status,
  lastRun,
  version,
}: LockRecord): LockRecordMessage {
  return create(LockRecordSchema, {
    ...(notBeforeUs !== null && { notBefore: timestampMessage(notBeforeUs) }),
    ...(attemptsLeft !== null && { attemptsLeft }),
    status,
    ...(lastRun && { lastRun: lastRunMessage(lastRun) }),
    version,
  });
}

function lastRunMessage({
  owner,
  fencingToken,
  grantedAtUs,
  endedAtUs,
  end,
  status,
}: LastRun): LastRunMessage {
  return create(LastRunSchema, {
    owner,
    fencingToken,
    grantedAt: timestampMessage(grantedAtUs),
    endedAt: timestampMessage(endedAtUs),
    endReason: reasonMessage(end),
    status,
  });
}
