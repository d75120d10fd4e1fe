// The reasons of errors and refusals, for programs to act on.

import type { RefusalName } from "./refusal.ts";

/**
 * The server's reasons; errors.proto explains them. CREDENTIALS_MISSING, CREDENTIALS_WRONG and
 * CREDENTIALS_EXPIRED: the server does not know who calls; the first one is also this client's, if it cannot read its
 * token or the files of its `tls`. RIGHT_MISSING: the server knows who calls (`principal` of the metadata), and its
 * policy does not allow the call (`right`).
 */
export type ServerReason =
  | "BAD_REQUEST"
  | "MALFORMED_MESSAGE"
  | "UNKNOWN_CLAIM"
  | "UNKNOWN_LOCK"
  | "LEASE_LOST"
  | "NOT_GRANTED_YET"
  | "LOCK_IN_USE"
  | "REQUEST_ID_REUSED"
  | "VERSION_MISMATCH"
  | "OVERLOADED"
  | "MESSAGE_TOO_LARGE"
  | "OUTCOME_UNKNOWN"
  | "DATABASE_UNAVAILABLE"
  | "SHUTTING_DOWN"
  | "KEYS_UNAVAILABLE"
  | "SESSION_SILENT"
  | "CREDENTIALS_MISSING"
  | "CREDENTIALS_WRONG"
  | "CREDENTIALS_EXPIRED"
  | "RIGHT_MISSING"
  | "TIMEOUT"
  | "CANCELLED"
  | "INTERNAL";

/**
 * The client's reasons. NO_SERVER: no server answered in time. CLOSED: the client was closed. CONNECTION_LOST: the
 * connection was lost before the answer came, and a repeated call is not safe; the call may have taken effect or not.
 * TTL_TOO_SHORT: answers take so long that the client cannot renew the lease in time. UNKNOWN: an error without a
 * reason, for example one of a proxy.
 */
export type ClientReason = "NO_SERVER" | "CLOSED" | "CONNECTION_LOST" | "TTL_TOO_SHORT" | "UNKNOWN";

/** Why a call failed: a reason of the server, of this client, or of a refusal. */
export type Reason = ServerReason | ClientReason | RefusalName;
