// WatchLocks: sends the locks under a prefix, and then their changes, until the client or the server ends it. Sends one
// message at a time: while a client does not read, the engine collects the changes, and nothing is kept here.

import { toBinary } from "@bufbuild/protobuf";
import { type Lock, LockSchema } from "#proto/rowlock/v1/lock_pb.js";
import type { WatchLocksRequest, WatchLocksResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import { NAME_BYTES_MAX } from "../../core/bounds.ts";
import type { WatchUpdate } from "../../engine/answers.ts";
import { type Seen, seenUnder, shownLock } from "../authorize.ts";
import type { Call, MethodContext, Send } from "../call.ts";
import { WATCH_BYTES_MAX } from "../grpc-bounds.ts";
import { lockMessage } from "../messages/messages.ts";
import type { Check } from "./fields.ts";

type Message = Omit<WatchLocksResponse, "$typeName">;

export async function watchLocks(
  { engine }: MethodContext,
  prefix: string,
  call: Call,
  send: Send<Message>,
): Promise<void> {
  const seen = seenUnder(call, "WatchLocks", prefix);
  const watch = engine.watchLocks(seen.prefix, call);
  const stopped = Promise.withResolvers<never>();
  // Avoids an unhandled rejection if nobody waits for it.
  stopped.promise.catch(() => {});
  const stop = (why: Error) => {
    watch.close(why);
    stopped.reject(why);
  };
  let leave = () => {};
  try {
    leave = call.client.waits.enter(call, stop);
    for (;;) {
      for (const part of messagesOf(shown(await watch.next(), seen, call))) {
        const written = new Promise<void>((resolve) => send(part, resolve));
        await Promise.race([written, stopped.promise]);
      }
    }
  } catch (error) {
    watch.close(error as Error);
    throw error;
  } finally {
    leave();
  }
}

function shown(update: WatchUpdate, { isSeen }: Seen, call: Call): WatchUpdate {
  const locks = isSeen ? update.locks.filter(({ lock }) => isSeen(lock.name)) : update.locks;
  const deleted = isSeen ? update.deleted.filter(isSeen) : update.deleted;
  return { ...update, locks: locks.map((view) => shownLock(call, view)), deleted };
}

/** One message, or several if the locks are too large for one. */
function messagesOf({ beganAnew, locks, deleted, complete }: WatchUpdate): Message[] {
  let part: Lock[] = [];
  const parts = [part];
  let bytes = 0;
  for (const view of locks) {
    const lock = lockMessage(view);
    const size = toBinary(LockSchema, lock).length;
    if (bytes + size > WATCH_BYTES_MAX && part.length > 0) {
      part = [];
      parts.push(part);
      bytes = 0;
    }
    part.push(lock);
    bytes += size;
  }
  return parts.map((locks, index) => ({
    beganAnew: beganAnew && index === 0,
    locks,
    deleted: locks === part ? [...deleted] : [],
    complete: complete && locks === part,
  }));
}

/** Returns the prefix. */
export function checkWatchLocks({ prefix }: WatchLocksRequest, check: Check): string {
  return check.text(prefix, NAME_BYTES_MAX, "prefix");
}
