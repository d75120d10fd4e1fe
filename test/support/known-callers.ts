// Callers that a server in this process knows by tokens, and what a policy lets them do.

import { Access } from "../../server/access/access.ts";
import type { Policy } from "../../server/access/policy.ts";
import { readPolicy } from "../../server/access/policy-file.ts";
import { newToken, readTokens } from "../../server/access/tokens-file.ts";

export interface KnownCallers {
  readonly access: Access;
  /** By the names of their callers. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** A gate that knows these callers by tokens, with a policy; null: they may do everything. */
export function knownCallers(names: readonly string[], policyText: string | null): KnownCallers {
  const made = names.map((name) => ({ name, ...newToken(name) }));
  const read = readTokens(["# Callers of a test", ...made.map(({ line }) => line)].join("\n"));
  const policy = policyText === null ? undefined : readPolicy(policyText);
  if ("faults" in read || (policy && "faults" in policy))
    throw new Error("The files of the test have faults.");
  const access = new Access({ tokens: read.value, policy: policy?.value });
  return { access, tokens: Object.fromEntries(made.map(({ name, token }) => [name, token])) };
}

export function knownPolicy(text: string): Policy {
  const policy = readPolicy(text);
  if ("faults" in policy) throw new Error(`The policy of the test has faults: ${policy.faults.join(" ")}`);
  return policy.value;
}
