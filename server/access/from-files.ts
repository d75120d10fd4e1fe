// Makes the access of a server from its files, and keeps it as the files are.

import { Access } from "./access.ts";
import type { CertificateNames } from "./certificate.ts";
import type { JwtRules, KeySet } from "./jwt.ts";
import { FileKeys, readKeys, UrlKeys } from "./key-sets.ts";
import { Policy } from "./policy.ts";
import { readPolicy } from "./policy-file.ts";
import { readTokens } from "./tokens-file.ts";

/** What files say, or everything that is wrong with them, each a sentence. */
export type Checked<Value> = { readonly value: Value } | { readonly faults: readonly string[] };

/** Where callers, keys and rules are written. */
export interface AccessFiles {
  readonly tokensFile: string | null;
  readonly policyFile: string | null;
  readonly certificates: CertificateNames | null;
  /** null: no JWTs are accepted. */
  readonly jwt: { readonly rules: JwtRules; readonly keys: string } | null;
}

/** Reads files, now and whenever they change. */
export interface FileWatcher {
  add<Value>(group: {
    readonly what: string;
    readonly paths: readonly string[];
    readonly load: (read: (path: string) => string) => Checked<Value>;
    readonly onNew: (value: Value) => void;
  }): void;
}

/** Whether the keys are fetched from a URL, and not read from a file. */
export function isUrl(keys: string): boolean {
  return /^https?:/.test(keys);
}

export interface StartedAccess {
  readonly access: Access;
  /** The keys that are fetched; null: there are none. The caller starts and stops them. */
  readonly fetchedKeys: UrlKeys | null;
}

/**
 * Until the watcher has read a file, it says nothing: no token is known, and nothing is allowed. `onFetched` gets null if
 * the keys were fetched, otherwise why not.
 */
export function accessFromFiles(
  { tokensFile, policyFile, certificates, jwt }: AccessFiles,
  watcher: FileWatcher,
  onFetched: (why: string | null) => void,
): StartedAccess {
  const fetchedKeys = jwt && isUrl(jwt.keys) ? new UrlKeys({ url: jwt.keys, onOutcome: onFetched }) : null;
  const access = new Access({
    tokens: tokensFile === null ? undefined : new Map(),
    policy: policyFile === null ? undefined : new Policy([]),
    certificates: certificates ?? undefined,
    jwt: jwt ? { rules: jwt.rules, keys: fetchedKeys ?? keysOf(jwt.keys, watcher) } : undefined,
  });
  if (tokensFile !== null)
    watcher.add({
      what: "tokens",
      paths: [tokensFile],
      load: (read) => readTokens(read(tokensFile)),
      onNew: (tokens) => access.replaceTokens(tokens),
    });
  if (policyFile !== null)
    watcher.add({
      what: "policy",
      paths: [policyFile],
      load: (read) => readPolicy(read(policyFile)),
      onNew: (policy) => access.replacePolicy(policy),
    });
  return { access, fetchedKeys };
}

function keysOf(path: string, watcher: FileWatcher): KeySet {
  const keys = new FileKeys();
  watcher.add({
    what: "jwt_keys",
    paths: [path],
    load: (read) => readKeys(read(path)),
    onNew: (value) => keys.replace(value),
  });
  return keys;
}
