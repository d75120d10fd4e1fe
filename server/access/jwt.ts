// JWTs: whether somebody trusted has signed one for this server, and whom it names. `jose` does the cryptography.

import { createLocalJWKSet, errors, jwtVerify } from "jose";
import { credentialsExpired, credentialsWrong, keysUnavailable } from "./access-error.ts";
import { hasKey, type KeySet, thumbprintOf } from "./key-sets.ts";
import { type Principal, principalName } from "./principal.ts";

/** Algorithms with public keys. With a shared secret, everybody who can check a token could make one. */
export const JWT_ALGORITHMS = [
  ...(["RS256", "RS384", "RS512"] as const),
  ...(["PS256", "PS384", "PS512"] as const),
  ...(["ES256", "ES384", "ES512", "EdDSA"] as const),
] as const;

export interface JwtRules {
  readonly issuer: string;
  readonly audience: string;
  readonly nameClaim: string;
  readonly algorithms: readonly string[];
  readonly clockSkewMs: number;
}

/** Three parts of base64url: it is either a JWT or nothing. */
export function looksLikeJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
}

/** Throws CREDENTIALS_WRONG, CREDENTIALS_EXPIRED or KEYS_UNAVAILABLE. */
export async function principalOfJwt(token: string, rules: JwtRules, keys: KeySet): Promise<Principal> {
  const { payload, key } = await verified(token, rules, keys);
  const named = payload[rules.nameClaim];
  const name = typeof named === "string" ? principalName("jwt", named) : null;
  if (name === null) throw credentialsWrong(`the JWT has no usable claim "${rules.nameClaim}"`);
  const thumbprint = thumbprintOf(key);
  return {
    name,
    endsMs: (payload.exp as number) * 1_000 + rules.clockSkewMs,
    isKnown: () => hasKey(keys.current(), thumbprint),
  };
}

async function verified(token: string, rules: JwtRules, keys: KeySet) {
  const { issuer, audience, algorithms, clockSkewMs } = rules;
  if (!keys.current()) await keys.refresh();
  const verify = async () => {
    const inForce = keys.current();
    if (!inForce) throw keysUnavailable();
    return await jwtVerify(token, createLocalJWKSet(inForce), {
      issuer,
      audience,
      algorithms: [...algorithms],
      clockTolerance: clockSkewMs / 1_000,
      requiredClaims: ["exp"],
    });
  };
  try {
    return await verify().catch(async (error: unknown) => {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      await keys.refresh();
      return await verify();
    });
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw credentialsExpired();
    if (error instanceof errors.JOSEError) throw credentialsWrong(whyNot(error));
    throw error;
  }
}

/** jose's own messages do not quote the token. */
function whyNot(error: errors.JOSEError): string {
  if (error instanceof errors.JWKSNoMatchingKey) return "no key in force has signed the JWT";
  if (error instanceof errors.JWTClaimValidationFailed) return `the JWT has the wrong claim "${error.claim}"`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return "the signature of the JWT is wrong";
  if (error instanceof errors.JOSEAlgNotAllowed) return "the algorithm of the JWT is not allowed";
  return "the token is no usable JWT";
}
