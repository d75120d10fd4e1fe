// The key of a request id in rowlock_request: 16 bytes, so that the index of request ids is small. Ids that are UUIDs of
// version 7 have keys in the order of their times, so rows of one time are neighbours. Says also which request ids cannot
// be used because their key belongs to another one. Pure.

import { hash } from "node:crypto";
import { callersRequestId, isServerMade } from "../../core/claim.ts";

const KEY_BYTES = 16;
/** A UUID of version 7 begins with its time: 48 bits. */
const TIME_BYTES = 6;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
const UUID_CHARS = 36;

/**
 * The key of a request id as claims keep it: a hash of the whole id, with who asks and which lease of a Capture it is; the
 * first bytes are the time of the caller's id if that has one. Somebody may look for two ids with the same key: whoever
 * finds a claim by its key must compare the id.
 */
export function requestKeyOf(requestId: string): Buffer {
  const known = recent.get(requestId);
  if (known) return known;
  if (recent.size >= RECENT_MAX) recent.clear();
  const key = keyOf(requestId);
  recent.set(requestId, key);
  return key;
}

/** A transaction looks a request id up and adds it soon after. Nobody may change these keys. */
const recent = new Map<string, Buffer>();
const RECENT_MAX = 1_024;

function keyOf(requestId: string): Buffer {
  // As a text it comes several times as fast as a Buffer.
  const digest = hash("sha256", requestId, "latin1");
  const key = Buffer.allocUnsafe(KEY_BYTES);
  key.write(digest, 0, KEY_BYTES, "latin1");
  const id = callersRequestId({ requestId });
  if (id.length !== UUID_CHARS || !UUID_V7.test(id)) return key;
  key.writeUInt32BE(Number.parseInt(id.slice(0, 8), 16), 0);
  key.writeUInt16BE(Number.parseInt(id.slice(9, 13), 16), TIME_BYTES - 2);
  return key;
}

/** Whose a key is. */
export interface KeyOwner {
  readonly key: Uint8Array;
  readonly requestId: string;
}

/**
 * The request ids that are taken by others: those with one of these keys that are not its owner, and of several ids with one
 * key all but the first. undefined: there are none, as nearly always.
 */
export function takenBy(
  requestIds: readonly string[],
  found: readonly KeyOwner[],
): ReadonlySet<string> | undefined {
  if (requestIds.length + found.length < 2) return undefined;
  const owners = new Map<string, string>();
  let taken: Set<string> | undefined;
  for (const { key, requestId } of found) owners.set(textOf(key), requestId);
  for (const requestId of requestIds) {
    if (isServerMade(requestId)) continue;
    const key = textOf(requestKeyOf(requestId));
    const owner = owners.get(key);
    if (owner === undefined) owners.set(key, requestId);
    else if (owner !== requestId) taken = (taken ?? new Set()).add(requestId);
  }
  return taken;
}

function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
}
