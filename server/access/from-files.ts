// Makes the access of a server from its files, and keeps it as the files are.

import type { JSONWebKeySet } from "jose";
import { Access } from "./access.ts";
import type { CertificateNames } from "./certificate.ts";
import type { JwtRules } from "./jwt.ts";
import { FileKeys, UrlKeys } from "./key-sets.ts";
import { Policy } from "./policy.ts";
import type { Tokens } from "./tokens-file.ts";

/** A file that is read now, and whenever it changes. */
export interface ReadAgain<Value> {
  readonly what: string;
  readonly paths: readonly string[];
  readonly load: (
    read: (path: string) => string,
  ) => { readonly value: Value } | { readonly faults: readonly string[] };
}

/** Where callers, keys and rules are written; null: nowhere. */
export interface AccessFiles {
  readonly tokens: ReadAgain<Tokens> | null;
  readonly policy: ReadAgain<Policy> | null;
  readonly certificates: CertificateNames | null;
  readonly jwt: {
    readonly rules: JwtRules;
    readonly keys: ReadAgain<JSONWebKeySet> | { readonly url: string };
  } | null;
}

export interface FileWatcher {
  add<Value>(file: ReadAgain<Value> & { readonly onNew: (value: Value) => void }): void;
}

/**
 * Until the watcher has read a file, it says nothing: no token is known, and nothing is allowed. `onFetched` gets null if
 * keys were fetched, otherwise why not. The caller starts and stops what fetches keys; null: there is no URL.
 */
export function accessFromFiles(
  { tokens, policy, certificates, jwt }: AccessFiles,
  watcher: FileWatcher,
  onFetched: (why: string | null) => void,
): { readonly access: Access; readonly fetchedKeys: UrlKeys | null } {
  const fetchedKeys = jwt && "url" in jwt.keys ? new UrlKeys({ ...jwt.keys, onOutcome: onFetched }) : null;
  const fileKeys = new FileKeys();
  const access = new Access({
    tokens: tokens ? new Map() : undefined,
    policy: policy ? new Policy([]) : undefined,
    certificates: certificates ?? undefined,
    jwt: jwt ? { rules: jwt.rules, keys: fetchedKeys ?? fileKeys } : undefined,
  });
  if (tokens) watcher.add({ ...tokens, onNew: (value) => access.replaceTokens(value) });
  if (policy) watcher.add({ ...policy, onNew: (value) => access.replacePolicy(value) });
  if (jwt && !("url" in jwt.keys)) watcher.add({ ...jwt.keys, onNew: (value) => fileKeys.replace(value) });
  return { access, fetchedKeys };
}
