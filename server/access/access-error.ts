// Why a caller is turned away, or has to wait. grpc/messages/status.ts makes a status of it.

import type { Needed } from "./rights.ts";

export type AccessReason =
  | "CREDENTIALS_MISSING"
  | "CREDENTIALS_WRONG"
  | "CREDENTIALS_EXPIRED"
  | "KEYS_UNAVAILABLE"
  | "OVERLOADED"
  | "RIGHT_MISSING";

export class AccessError extends Error {
  readonly reason: AccessReason;
  readonly metadata: Readonly<Record<string, string>>;
  /** undefined: to repeat the call as it is cannot help. */
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: AccessReason,
    message: string,
    metadata: Readonly<Record<string, string>> = {},
    retryAfterMs?: number,
  ) {
    super(message);
    this.name = "AccessError";
    this.reason = reason;
    this.metadata = metadata;
    this.retryAfterMs = retryAfterMs;
  }
}

export function credentialsMissing(accepted: string): AccessError {
  return new AccessError("CREDENTIALS_MISSING", `This server wants to know who calls: ${accepted}.`);
}

/** `why` completes "The server does not accept these credentials: ". Never contains them. */
export function credentialsWrong(why: string): AccessError {
  return new AccessError("CREDENTIALS_WRONG", `The server does not accept these credentials: ${why}.`);
}

/** Which of them counts must not depend on who reads them first. */
export function severalCredentials(): AccessError {
  return credentialsWrong("the call has several authorization headers");
}

export function certificateRevoked(): AccessError {
  return credentialsWrong("the certificate of this connection was revoked");
}

export function credentialsExpired(): AccessError {
  return new AccessError(
    "CREDENTIALS_EXPIRED",
    "These credentials have expired: get new ones, and call again. Leases and places are kept.",
  );
}

const KEYS_RETRY_AFTER_MS = 1_000;

export function keysUnavailable(): AccessError {
  return new AccessError(
    "KEYS_UNAVAILABLE",
    "The server could not load the keys that JWTs are checked with: try again; its log says why.",
    {},
    KEYS_RETRY_AFTER_MS,
  );
}

/** `what`: the locks, for people. `cause`: what only the log may say beyond that. */
export function rightMissing(
  principal: string,
  { verb, right }: Needed,
  what: string,
  cause?: string,
): AccessError {
  const error = new AccessError(
    "RIGHT_MISSING",
    `The policy of this server does not allow ${verb} on ${what} to ${principal}: it needs the right \`${right}\`.`,
    { right, principal },
  );
  if (cause !== undefined) error.cause = cause;
  return error;
}

/** `why` completes "The policy of this server fixes labels: ". */
export function labelsFixed(principal: string, why: string): AccessError {
  return new AccessError("RIGHT_MISSING", `The policy of this server fixes labels: ${why}.`, { principal });
}

export function rightLost(principal: string): AccessError {
  return new AccessError(
    "RIGHT_MISSING",
    `The policy of this server has changed, and ${principal} has lost a right: call again for what is still allowed. ` +
      "Leases and places are kept.",
    { principal },
  );
}
