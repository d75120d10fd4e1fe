// The settings about who calls and who may do what: reads their files, and checks that they fit together.

import { type AccessFiles, isUrl } from "../access/from-files.ts";
import { readKeys } from "../access/key-sets.ts";
import { readPolicy } from "../access/policy-file.ts";
import { readTokens } from "../access/tokens-file.ts";
import { formatListenAddress, isLoopback } from "./listen-address.ts";
import type { SettingValues } from "./settings.ts";
import { reasonOf } from "./sources.ts";

/** null: nobody is asked who they are. The result counts only if this adds no faults. */
export function accessConfig(
  values: Partial<SettingValues>,
  readFile: (path: string) => string,
  faults: string[],
): AccessFiles | null {
  const { tokensFile = null, policyFile = null, certificateNames = null } = values;
  const jwt = jwtConfig(values, faults);
  if (certificateNames !== null && values.tlsClientCa === null)
    faults.push(
      "ROWLOCK_CERTIFICATE_NAMES is set without ROWLOCK_TLS_CLIENT_CA: set both, so that only certificates that you trust " +
        "name a caller.",
    );
  const asks = tokensFile !== null || jwt !== null || certificateNames !== null;
  if (policyFile !== null && !asks)
    faults.push(
      "ROWLOCK_POLICY_FILE is set, and nothing says who calls: set ROWLOCK_TOKENS_FILE, ROWLOCK_JWT_ISSUER or " +
        "ROWLOCK_CERTIFICATE_NAMES, too.",
    );
  const { listen, tlsCert, allowPlaintextTokens } = values;
  const takesTokens = tokensFile !== null || jwt !== null;
  if (takesTokens && listen && tlsCert === null && allowPlaintextTokens === false && !isLoopback(listen.host))
    faults.push(
      `ROWLOCK_LISTEN is ${formatListenAddress(listen)}, and tokens would cross the network without TLS: set ` +
        "ROWLOCK_TLS_CERT and ROWLOCK_TLS_KEY, or, where nobody can listen, ROWLOCK_ALLOW_PLAINTEXT_TOKENS=true.",
    );
  checkFile("ROWLOCK_TOKENS_FILE", tokensFile, readTokens, readFile, faults);
  checkFile("ROWLOCK_POLICY_FILE", policyFile, readPolicy, readFile, faults);
  if (jwt && !isUrl(jwt.keys)) checkFile("ROWLOCK_JWT_KEYS", jwt.keys, readKeys, readFile, faults);
  return asks ? { tokensFile, policyFile, certificates: certificateNames, jwt } : null;
}

const JWT_SETTINGS = {
  jwtIssuer: "ROWLOCK_JWT_ISSUER",
  jwtAudience: "ROWLOCK_JWT_AUDIENCE",
  jwtKeys: "ROWLOCK_JWT_KEYS",
} as const;

function jwtConfig(values: Partial<SettingValues>, faults: string[]): AccessFiles["jwt"] {
  const names = Object.entries(JWT_SETTINGS) as [keyof typeof JWT_SETTINGS, string][];
  const set = names.filter(([key]) => values[key] !== "");
  if (set.length === 0) return null;
  const missing = names.filter((each) => !set.includes(each)).map(([, name]) => name);
  if (missing.length > 0)
    faults.push(
      `${set.map(([, name]) => name).join(" and ")} ${set.length === 1 ? "is" : "are"} set without ` +
        `${missing.join(" and ")}: JWTs need an issuer, an audience and keys.`,
    );
  const { jwtIssuer = "", jwtAudience = "", jwtKeys = "" } = values;
  const rules = {
    issuer: jwtIssuer,
    audience: jwtAudience,
    nameClaim: values.jwtNameClaim ?? "",
    algorithms: values.jwtAlgorithms ?? [],
    clockSkewMs: values.jwtClockSkewMs ?? 0,
  };
  if (!isUrl(jwtKeys)) return { rules, keys: jwtKeys };
  const url = URL.canParse(jwtKeys) ? new URL(jwtKeys) : null;
  if (!url || (url.protocol === "http:" && !isLoopback(url.hostname)))
    faults.push(
      "ROWLOCK_JWT_KEYS is a URL whose answer others could change: write an https URL, or the name of a file.",
    );
  return { rules, keys: jwtKeys };
}

function checkFile(
  name: string,
  path: string | null,
  read: (text: string) => object,
  readFile: (path: string) => string,
  faults: string[],
): void {
  if (path === null || path === "") return;
  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    faults.push(
      `${name} is "${path}", which cannot be read (${reasonOf(error)}): name a file that this user may read.`,
    );
    return;
  }
  const found = read(text);
  if ("faults" in found)
    for (const fault of found.faults as readonly string[]) faults.push(`${name}, ${path}: ${fault}.`);
}
