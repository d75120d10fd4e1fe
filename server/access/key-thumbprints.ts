// Says whether a key is in a key set, by the key itself. Its id says nothing: an issuer that withdraws a key may give its id
// to the next one, or give none. Asked for each call, so a set is worked out once, and at once: that of jose is async.

import { createHash, createPublicKey, KeyObject, type webcrypto } from "node:crypto";
import type { CryptoKey, JSONWebKeySet } from "jose";

const THUMBPRINTS = new WeakMap<JSONWebKeySet, ReadonlySet<string>>();

/** `key`: as jose returns it beside what it has verified. */
export function thumbprintOf(key: CryptoKey | Uint8Array): string {
  if (key instanceof Uint8Array) throw new Error("A public key has signed each JWT that is accepted.");
  return hashOf(KeyObject.from(key));
}

/** null: there is no set. */
export function hasKey(set: JSONWebKeySet | null, thumbprint: string): boolean {
  if (!set) return false;
  let known = THUMBPRINTS.get(set);
  if (!known) {
    known = new Set(set.keys.flatMap(hashOfJwk));
    THUMBPRINTS.set(set, known);
  }
  return known.has(thumbprint);
}

function hashOfJwk(jwk: object): readonly string[] {
  try {
    return [hashOf(createPublicKey({ key: jwk as webcrypto.JsonWebKey, format: "jwk" }))];
  } catch {
    // Key sets may have keys of kinds that nobody here can use: none of them has signed anything.
    return [];
  }
}

function hashOf(key: KeyObject): string {
  return createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("base64");
}
