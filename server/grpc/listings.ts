// GetLock and ListLocks: reads for people and tools. Show no secret ids.

import { create, toBinary } from "@bufbuild/protobuf";
import type { Lock } from "#proto/rowlock/v1/lock_pb.js";
import { LockSchema } from "#proto/rowlock/v1/lock_pb.js";
import {
  GetLockRequestSchema,
  GetLockResponseSchema,
  ListLocksRequestSchema,
  ListLocksResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { LockDescription } from "../engine/lock-engine.ts";
import type { Verbs } from "./answers.ts";
import { unknownLock } from "./call-error.ts";
import { PAGE_BYTES_MAX } from "./grpc-bounds.ts";
import type { UnaryVerb } from "./handler.ts";
import { lockOf } from "./messages.ts";
import { type CheckedList, checkGetLock, checkListLocks, pageTokenAfter } from "./validate-listings.ts";

export function getLockVerb({
  engine,
}: Verbs): UnaryVerb<typeof GetLockRequestSchema, typeof GetLockResponseSchema, string> {
  return {
    name: "GetLock",
    input: GetLockRequestSchema,
    output: GetLockResponseSchema,
    check: checkGetLock,
    async run(name) {
      const lock = await engine.show(name);
      if (!lock) throw unknownLock(name);
      return create(GetLockResponseSchema, { lock: lockOf(lock) });
    },
  };
}

export function listLocksVerb({
  engine,
}: Verbs): UnaryVerb<typeof ListLocksRequestSchema, typeof ListLocksResponseSchema, CheckedList> {
  return {
    name: "ListLocks",
    input: ListLocksRequestSchema,
    output: ListLocksResponseSchema,
    check: checkListLocks,
    async run({ prefix, afterName, pageSize, busyOnly }) {
      // One more than wanted tells whether another page follows.
      const found = await engine.list({ prefix, afterName, max: pageSize + 1, busyOnly });
      const locks = firstPage(found.slice(0, pageSize));
      const last = locks.at(-1);
      const nextPageToken = last && locks.length < found.length ? pageTokenAfter(last.name) : "";
      return create(ListLocksResponseSchema, { locks, nextPageToken });
    },
  };
}

/** As many as fit into an answer that clients accept; one at least, so that listing goes on. */
function firstPage(descriptions: readonly LockDescription[]): Lock[] {
  const locks: Lock[] = [];
  let bytes = 0;
  for (const description of descriptions) {
    const lock = lockOf(description);
    bytes += toBinary(LockSchema, lock).length;
    if (bytes > PAGE_BYTES_MAX && locks.length > 0) break;
    locks.push(lock);
  }
  return locks;
}
