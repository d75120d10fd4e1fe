// Key sets for JWTs, from a file or from a URL. A URL that cannot be reached, or that answers with something else, leaves
// the last keys in force. Says whether a key is in a set by the key itself: its id says nothing, as an issuer that
// withdraws a key may give its id to the next one, or give none.

import { createHash, createPublicKey, KeyObject, type webcrypto } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { CryptoKey, JSONWebKeySet } from "jose";

export type { JSONWebKeySet };

/** Whose signatures count, in the moment. */
export interface KeySet {
  /** The key set in force; null: none was loaded yet. */
  current(): JSONWebKeySet | null;
  /** Asks for newer keys because a token names an unknown one. Resolves when they are there, or there are none. */
  refresh(): Promise<void>;
}

export type ReadKeys = { readonly value: JSONWebKeySet } | { readonly faults: readonly string[] };

/** Reads a JWKS. Refuses secret keys: a key set that is handed around must not contain them. */
export function readKeys(text: string): ReadKeys {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { faults: ['it is not JSON: save the issuer\'s key set, which begins {"keys": [...]}'] };
  }
  const keys = (parsed as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length === 0)
    return { faults: ['it has no keys: save the issuer\'s key set, which begins {"keys": [...]}'] };
  const secret = keys.findIndex((key) => key?.kty === "oct" || key?.d !== undefined);
  if (secret < 0) return { value: { keys } };
  const fault = `key ${secret + 1} of the set is secret: put only public keys into it, and replace that key`;
  return { faults: [fault] };
}

export class FileKeys implements KeySet {
  #keys: JSONWebKeySet | null = null;

  replace(keys: JSONWebKeySet): void {
    this.#keys = keys;
  }

  current(): JSONWebKeySet | null {
    return this.#keys;
  }

  async refresh(): Promise<void> {}
}

const REFRESH_EVERY_MS = 300_000;
/** An unknown key in a token asks for newer keys no more often than this. */
const REFRESH_AGAIN_MS = 10_000;
const FETCH_MS_MAX = 5_000;
const BYTES_MAX = 1_048_576;

export interface UrlKeysOptions {
  readonly url: string;
  /** Called when it changes, and after the first try: null if that worked, otherwise why not. */
  readonly onOutcome: (why: string | null) => void;
  readonly fetched?: (url: string) => Promise<string>;
  readonly everyMs?: number;
  readonly againMs?: number;
}

export class UrlKeys implements KeySet {
  readonly #options: Required<UrlKeysOptions>;
  readonly #stopped = new AbortController();
  #keys: JSONWebKeySet | null = null;
  #fetching: Promise<void> | null = null;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #outcome: string | null | undefined;

  constructor(options: UrlKeysOptions) {
    this.#options = { fetched: textOf, everyMs: REFRESH_EVERY_MS, againMs: REFRESH_AGAIN_MS, ...options };
  }

  /** Fetches the keys, whether or not that works, and goes on to do so until `stop`. */
  async start(): Promise<void> {
    await this.#fetch();
    void this.#goOn();
  }

  stop(): void {
    this.#stopped.abort();
  }

  current(): JSONWebKeySet | null {
    return this.#keys;
  }

  async refresh(): Promise<void> {
    const isRecent = performance.now() - this.#fetchedMs < this.#options.againMs;
    if (this.#fetching || !isRecent) await this.#fetch();
  }

  async #goOn(): Promise<void> {
    const { signal } = this.#stopped;
    const { everyMs, againMs } = this.#options;
    while (!signal.aborted) {
      await sleep(this.#keys ? everyMs : againMs, undefined, { signal, ref: false }).catch(() => {});
      if (!signal.aborted) await this.#fetch();
    }
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = null;
      this.#fetchedMs = performance.now();
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<void> {
    const { url, fetched, onOutcome } = this.#options;
    const failed = (error: unknown): ReadKeys => ({ faults: [messageOf(error)] });
    const read = await fetched(url).then(readKeys).catch(failed);
    if ("value" in read) this.#keys = read.value;
    const outcome = "value" in read ? null : read.faults.join("; ");
    if (outcome === this.#outcome) return;
    this.#outcome = outcome;
    onOutcome(outcome);
  }
}

/** fetch says "fetch failed", and its cause says why. */
function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

async function textOf(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_MS_MAX), redirect: "error" });
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  let text = "";
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(part).toString("latin1");
    if (text.length > BYTES_MAX) throw new Error(`it answered with more than ${BYTES_MAX} bytes`);
  }
  return Buffer.from(text, "latin1").toString();
}

const THUMBPRINTS = new WeakMap<JSONWebKeySet, ReadonlySet<string>>();

/** `key`: the one that jose returns with a verified token. */
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
