// The settings about who calls and who may do what, at /metrics too: reads their files, and checks that they fit together.

import type { CertificateNames } from "../access/certificate.ts";
import type { JwtRules } from "../access/jwt.ts";
import { type JSONWebKeySet, readKeys } from "../access/key-sets.ts";
import type { Policy } from "../access/policy.ts";
import { readPolicy } from "../access/policy-file.ts";
import { readTokens, type Tokens } from "../access/tokens-file.ts";
import { formatListenAddress, isLoopback } from "./addresses.ts";
import type { Reading } from "./pem-files.ts";
import type { Read, Reloadable } from "./reloaded-files.ts";
import { Refusal } from "./setting-kinds.ts";
import type { Checked } from "./settings.ts";
import { readNamed, reasonOf } from "./sources.ts";

/** Where callers, keys and rules are written; null: nowhere. */
export interface AccessFiles {
  readonly tokens: Reloadable<Tokens> | null;
  readonly policy: Reloadable<Policy> | null;
  readonly certificates: CertificateNames | null;
  readonly jwt: {
    readonly rules: JwtRules;
    readonly keys: Reloadable<JSONWebKeySet> | { readonly url: string };
  } | null;
}

/** null: nobody is asked who they are. The result counts only if this adds no faults. */
export function accessConfig(values: Checked, { readFile, faults }: Reading): AccessFiles | null {
  const { listen, tlsCert, allowPlaintextTokens, certificateNames: certificates = null } = values;
  const [tokens, policy, jwt] = [tokensFile(values), policyFile(values), jwtConfig(values, faults)];
  if (certificates !== null && values.tlsClientCa === null)
    faults.push(
      "ROWLOCK_CERTIFICATE_NAMES is set without ROWLOCK_TLS_CLIENT_CA: set both, so that only certificates that you trust " +
        "name a caller.",
    );
  const takesTokens = tokens !== null || jwt !== null;
  const asks = takesTokens || certificates !== null;
  if (policy !== null && !asks)
    faults.push(
      "ROWLOCK_POLICY_FILE is set, and nothing says who calls: set ROWLOCK_TOKENS_FILE, ROWLOCK_JWT_ISSUER or " +
        "ROWLOCK_CERTIFICATE_NAMES, too.",
    );
  if (takesTokens && listen && tlsCert === null && allowPlaintextTokens === false && !isLoopback(listen.host))
    faults.push(
      `ROWLOCK_LISTEN is ${formatListenAddress(listen)}, and tokens would cross the network without TLS: set ` +
        "ROWLOCK_TLS_CERT and ROWLOCK_TLS_KEY, or, where nobody can listen, ROWLOCK_ALLOW_PLAINTEXT_TOKENS=true.",
    );
  for (const file of [tokens, policy, keysFile(values)]) {
    const loaded = file?.load(readFile);
    if (loaded && "faults" in loaded) faults.push(...loaded.faults);
  }
  return asks ? { tokens, policy, certificates, jwt } : null;
}

export function tokensFile({ tokensFile: path }: Checked): Reloadable<Tokens> | null {
  return fileOf("tokens", "ROWLOCK_TOKENS_FILE", path, readTokens);
}

export function policyFile({ policyFile: path }: Checked): Reloadable<Policy> | null {
  return fileOf("policy", "ROWLOCK_POLICY_FILE", path, readPolicy);
}

/** null: there are no keys, or they have a URL. */
export function keysFile({ jwtKeys = "" }: Checked): Reloadable<JSONWebKeySet> | null {
  return /^https?:/.test(jwtKeys) ? null : fileOf("jwt_keys", "ROWLOCK_JWT_KEYS", jwtKeys, readKeys);
}

function jwtConfig(values: Checked, faults: string[]): AccessFiles["jwt"] {
  const { jwtIssuer: issuer = "", jwtAudience: audience = "", jwtKeys = "" } = values;
  const settings = {
    ROWLOCK_JWT_ISSUER: values.jwtIssuer,
    ROWLOCK_JWT_AUDIENCE: values.jwtAudience,
    ROWLOCK_JWT_KEYS: values.jwtKeys,
  };
  const [set, missing] = [true, false].map((isSet) =>
    Object.entries(settings).flatMap(([name, value]) => ((value !== "") === isSet ? name : [])),
  ) as [string[], string[]];
  if (set.length === 0) return null;
  if (missing.length > 0)
    faults.push(
      `${set.join(" and ")} ${set.length === 1 ? "is" : "are"} set without ` +
        `${missing.join(" and ")}: JWTs need an issuer, an audience and keys.`,
    );
  const {
    jwtNameClaim: nameClaim = "",
    jwtAlgorithms: algorithms = [],
    jwtClockSkewMs: clockSkewMs = 0,
  } = values;
  const rules = { issuer, audience, nameClaim, algorithms, clockSkewMs };
  const file = keysFile(values);
  if (file) return { rules, keys: file };
  const url = URL.canParse(jwtKeys) ? new URL(jwtKeys) : null;
  if (jwtKeys !== "" && (!url || (url.protocol === "http:" && !isLoopback(url.hostname))))
    faults.push(
      "ROWLOCK_JWT_KEYS is a URL whose answer others could change: write an https URL, or the name of a file.",
    );
  return { rules, keys: { url: jwtKeys } };
}

/** null: no file is named. */
function fileOf<Value>(
  what: string,
  name: string,
  path: string | null | undefined,
  read: (text: string) => Read<Value>,
): Reloadable<Value> | null {
  if (!path) return null;
  return {
    what,
    paths: [path],
    ifNever: "files cannot be used, and nothing is in force yet: callers are refused",
    load(readFile) {
      const text = readNamed(name, path, readFile);
      if (text instanceof Refusal) return { faults: [text.message] };
      const found = read(text);
      if (!("faults" in found)) return found;
      return { faults: found.faults.map((fault) => `${name}, ${path}: ${fault}.`) };
    },
  };
}

/** Shorter ones can be guessed. */
const TOKEN_CHARS_MIN = 16;
/** What may follow `Bearer` in a header. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The tokens that open /metrics: one a line, so that a new one can be in force before the old one is withdrawn. */
export function metricsTokenFile({ metricsTokenFile: path }: Checked): Reloadable<readonly string[]> | null {
  if (!path) return null;
  return {
    what: "metrics_token",
    paths: [path],
    load(readFile) {
      try {
        return tokensIn(readFile(path));
      } catch (error) {
        const advice = "name a file that this user may read";
        return { faults: [`ROWLOCK_METRICS_TOKEN_FILE is "${path}" (${reasonOf(error)}): ${advice}.`] };
      }
    },
  };
}

function tokensIn(text: string): Read<readonly string[]> {
  const lines = text.split("\n").map((line) => line.trim());
  const tokens = lines.filter((line) => line !== "");
  if (tokens.length === 0) return { faults: ["ROWLOCK_METRICS_TOKEN_FILE is empty: write a token into it."] };
  // Never quotes a line: it may be a token with a slip.
  const faults = lines.flatMap((line, index) =>
    line === "" || (TOKEN.test(line) && line.length >= TOKEN_CHARS_MIN)
      ? []
      : `Line ${index + 1} of ROWLOCK_METRICS_TOKEN_FILE is not a token: write ${TOKEN_CHARS_MIN} or more ` +
        "letters, digits and ._~+/-, for example from `openssl rand -hex 32`.",
  );
  return faults.length > 0 ? { faults } : { value: tokens };
}
