// GetLock and ListLocks: reads for people and tools. They never show secret ids.

import { create, toBinary } from "@bufbuild/protobuf";
import type {
  GetLockRequest,
  ListLocksRequest,
  ListLocksResponse,
} from "#proto/rowlock/v1/lock_service_pb.js";
import { ListLocksResponseSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { ViewedLock } from "../../engine/lock-engine.ts";
import { PAGE_BYTES_MAX } from "../grpc-bounds.ts";
import type { AnyCall } from "../handler.ts";
import { ClientGone } from "../messages/call-error.ts";
import { lockMessage } from "../messages/messages.ts";
import { pageTokenAfter } from "../messages/page-tokens.ts";
import { checkGetLock, checkListLocks } from "../validate/listings.ts";
import type { MethodContext } from "./method.ts";

/** Describes a lock, even if nobody has used the name. */
export async function getLock({ engine }: MethodContext, message: GetLockRequest, call: AnyCall) {
  const name = checkGetLock(message);
  return { lock: lockMessage(await engine.view(name, call)) };
}

/** Answers with one page. The orders by waiters have no further pages. Throws ClientGone if the client hangs up. */
export async function listLocks({ engine }: MethodContext, message: ListLocksRequest, call: AnyCall) {
  const { pageSize, ...query } = checkListLocks(message);
  const page = new Page(pageSize);
  // One more than the page holds shows whether another page follows.
  for await (const description of engine.views({ ...query, max: pageSize + 1 }, call)) {
    if (call.cancelled) throw new ClientGone();
    if (page.take(description)) continue;
    // In an order by waiters, no token can say where the next page would begin.
    return query.order === "name" ? page.followed() : page.last();
  }
  return page.last();
}

/**
 * As many locks as fit into an answer that clients accept; at least one, so that a listing advances. Encoding takes
 * about as long as reading, so each lock is encoded as it arrives: the encodings of a message's parts, one after the
 * other, are the message.
 */
class Page {
  readonly #parts: Uint8Array[] = [];
  readonly #sizeMax: number;
  #bytes = 0;
  #lastName = "";

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** Returns false if the page is full. */
  take(view: ViewedLock): boolean {
    if (this.#parts.length === this.#sizeMax) return false;
    const part = encoded({ locks: [lockMessage(view)] });
    if (this.#bytes + part.length > PAGE_BYTES_MAX && this.#parts.length > 0) return false;
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#lastName = view.lock.name;
    return true;
  }

  last(): Buffer {
    return Buffer.concat(this.#parts);
  }

  followed(): Buffer {
    return Buffer.concat([...this.#parts, encoded({ nextPageToken: pageTokenAfter(this.#lastName) })]);
  }
}

function encoded(part: Partial<Pick<ListLocksResponse, "locks" | "nextPageToken">>): Uint8Array {
  return toBinary(ListLocksResponseSchema, create(ListLocksResponseSchema, part));
}
