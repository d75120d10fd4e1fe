// The errors that the contract defines, each with a reason that programs act on. status.ts turns them into what a
// client sees. An expected "no" is not an error: see refusal.ts.

import { status } from "@grpc/grpc-js";
import type { ErrorReason } from "#proto/rowlock/v1/errors_pb.js";
import { POOLS_OVER_NAME_MAX } from "../../core/bounds.ts";
import type { Claim } from "../../core/claim.ts";
import * as bounds from "../grpc-bounds.ts";

/** Every reason that an ErrorInfo of domain `rowlock` can have, with its status code. */
export const CODE_OF_REASON = {
  BAD_REQUEST: status.INVALID_ARGUMENT,
  MALFORMED_MESSAGE: status.INVALID_ARGUMENT,
  UNKNOWN_CLAIM: status.NOT_FOUND,
  UNKNOWN_LOCK: status.NOT_FOUND,
  LEASE_LOST: status.FAILED_PRECONDITION,
  NOT_GRANTED_YET: status.FAILED_PRECONDITION,
  LOCK_IN_USE: status.FAILED_PRECONDITION,
  REQUEST_ID_REUSED: status.ALREADY_EXISTS,
  VERSION_MISMATCH: status.ABORTED,
  OVERLOADED: status.RESOURCE_EXHAUSTED,
  MESSAGE_TOO_LARGE: status.RESOURCE_EXHAUSTED,
  // Not UNAVAILABLE: proxies and interceptors retry that by themselves.
  OUTCOME_UNKNOWN: status.UNKNOWN,
  DATABASE_UNAVAILABLE: status.UNAVAILABLE,
  SHUTTING_DOWN: status.UNAVAILABLE,
  SESSION_SILENT: status.UNAVAILABLE,
  CREDENTIALS_MISSING: status.UNAUTHENTICATED,
  CREDENTIALS_WRONG: status.UNAUTHENTICATED,
  CREDENTIALS_EXPIRED: status.UNAUTHENTICATED,
  KEYS_UNAVAILABLE: status.UNAVAILABLE,
  RIGHT_MISSING: status.PERMISSION_DENIED,
  TIMEOUT: status.DEADLINE_EXCEEDED,
  CANCELLED: status.CANCELLED,
  INTERNAL: status.INTERNAL,
} as const satisfies Readonly<Record<Exclude<keyof typeof ErrorReason, "UNSPECIFIED">, status>>;

export type Reason = keyof typeof CODE_OF_REASON;

/** What is wrong with one field: its path (`acquire.ttl`), and what to do. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

export interface CallErrorDetails {
  readonly metadata?: Readonly<Record<string, string>>;
  readonly violations?: readonly Violation[];
  readonly ended?: Claim;
  readonly retryAfterMs?: number;
}

export class CallError extends Error {
  readonly reason: Reason;
  readonly details: CallErrorDetails;

  constructor(reason: Reason, message: string, details: CallErrorDetails = {}) {
    super(message);
    this.name = "CallError";
    this.reason = reason;
    this.details = details;
  }
}

function errorOf(reason: Reason, message: string): () => CallError {
  return () => new CallError(reason, message);
}

/** Reports all violations; there must be at least one. */
export function badRequest(violations: readonly Violation[]): CallError {
  const [first] = violations;
  const more = violations.length > 1 ? ` (and ${violations.length - 1} more in the details)` : "";
  return new CallError("BAD_REQUEST", `${first?.field}: ${first?.description}${more}`, { violations });
}

export function tooManyPools(over: string): CallError {
  const description = `would be one pool too many over the names ${over}, which may have ${POOLS_OVER_NAME_MAX}: remove one first`;
  return badRequest([{ field: "pool", description }]);
}

export const unknownClaim = errorOf(
  "UNKNOWN_CLAIM",
  "There is no ticket or lease with this id, or it ended so long ago that the server has forgotten it.",
);

export const notWaiting = errorOf(
  "UNKNOWN_CLAIM",
  "No claim with this id or number waits: it was granted, it has ended, or there is none.",
);

export const unknownLock = (name: string) =>
  new CallError(
    "UNKNOWN_LOCK",
    `There is no lock "${name}": nobody has used this name yet, or the server has forgotten the idle lock.`,
  );

export const leaseLost = (ended: Claim) =>
  new CallError(
    "LEASE_LOST",
    `The claim has ended (${ended.endReason}) and is never revived: stop what the lock protects, and acquire it anew.`,
    { ended },
  );

export const notGrantedYet = errorOf(
  "NOT_GRANTED_YET",
  "The ticket still waits: follow it with WaitInQueue until it is granted.",
);

export const requestIdReused = errorOf(
  "REQUEST_ID_REUSED",
  "The request id belongs to a claim for another lock, mode or number of permits: use a new id for each new request.",
);

export const versionMismatch = (version: bigint) =>
  new CallError(
    "VERSION_MISMATCH",
    `The setting has version ${version}: read it again, and repeat the change with that as expected_version.`,
    { metadata: { version: String(version) } },
  );

export const recordVersionMismatch = (version: bigint) =>
  new CallError(
    "VERSION_MISMATCH",
    version === 0n
      ? "The lock has no record: read the lock again, and repeat the change with 0 as expected_version."
      : `The record has version ${version}: read the lock again, and repeat the change with that as expected_version.`,
    { metadata: { version: String(version) } },
  );

export const lockInUse = (name: string) =>
  new CallError(
    "LOCK_IN_USE",
    `Somebody holds "${name}" or waits for it: delete it when nobody does, or end their claims by ForceRelease.`,
  );

/** `bound`: its name in the table of errors. */
function overloaded(bound: string, message: string, retryAfterMs = bounds.WAITS_RETRY_AFTER_MS): CallError {
  return new CallError("OVERLOADED", message, { metadata: { bound }, retryAfterMs });
}

export const tooManyWaits = (waitsMax: number) =>
  overloaded(
    "waits_on_connection",
    `This connection has ${waitsMax} open waits, which is as many as it may have: open another connection.`,
  );

export const tooManySessionWaits = (waitsMax: number) =>
  overloaded(
    "session_waits",
    `This session has ${waitsMax} open waits, which is as many as it may have: cancel some, or open another session.`,
  );

/** `bound`: the name of a bound of one connection or of one session, as errors.proto lists it. */
export const tooMuchUnderWay = (bound: string, retryAfterMs?: number) =>
  overloaded(
    bound,
    "This client has too many calls under way, including cancelled ones that are not over yet: wait until some of them end.",
    retryAfterMs,
  );

export const tooManyWaitsOfPrincipal = (waitsMax: number) =>
  overloaded(
    "principal_waits",
    `This caller has as many open waits as it may have (${waitsMax}, or fewer while few are left for others): cancel some, or try again later.`,
  );

/** `soonestMs`: when the client may renew again. */
export function tooManyRenewals(soonestMs: number): CallError {
  const retryAfterMs = Math.ceil(
    Math.min(bounds.RENEWALS_RETRY_AFTER_MS_MAX, Math.max(bounds.RENEWALS_RETRY_AFTER_MS_MIN, soonestMs)),
  );
  return overloaded(
    "client_renewals",
    "This client renews its leases far more often than their time to live asks for, or renews and releases leases that do not exist or are not its own: renew each about three times within its ttl.",
    retryAfterMs,
  );
}

export const serverIsFull = (what: "waits" | "sessions") =>
  overloaded(
    `server_${what}`,
    `This server has no room for more ${what}: try again later, or use another server.`,
  );

/** Requests over HTTP that are open: of pages, and of all others; calls, and streams. */
export type BoundOfRequests = "page_calls" | "page_watches" | "http_calls" | "http_streams";

/** `whose`: what has as many as it may have. */
export function tooManyRequests(bound: BoundOfRequests, whose: "max" | "ofCaller" | "ofNetwork"): CallError {
  const what = bound.replace("page_", "").replace("http_", "");
  const whoseAre = bound.startsWith("page_") ? "pages" : "clients over HTTP";
  const sentence = {
    max: `The ${whoseAre} of this server have as many open ${what} as it takes: end one, or ask another server.`,
    ofCaller: `Your ${whoseAre} at this server have as many open ${what} as one caller may have: end one.`,
    ofNetwork: `The ${whoseAre} in your network have as many open ${what} as one network may have: end one.`,
  };
  return overloaded(bound, sentence[whose]);
}

/** A call counts as a wait until its request is there. */
export const tooManyUnfinished = () =>
  overloaded(
    "server_waits",
    "This server has no room for more requests that have not arrived completely: send the request again, in one go.",
  );

/** Open calls with their headers take all the memory that the server has for them. */
export const tooManyStreams = () =>
  overloaded(
    "server_waits",
    "This server has no room for more open calls: try again later, or use another server.",
  );

/** Of services for which nobody is asked who they are. */
export const tooManyOfOtherServices = () =>
  overloaded(
    "calls_on_connection",
    "This connection makes too many calls for health and reflection: make fewer, or wait.",
  );

export const requestLate = (arrivesMs: number) =>
  new CallError(
    "TIMEOUT",
    `The request did not arrive within ${arrivesMs} ms. Nothing was done: send it again, in one go.`,
  );

export const tooManyCommands = (commandsMax: number) =>
  overloaded(
    "session_commands",
    `This session has ${commandsMax} commands under way, which is as many as it may have: wait for some to be answered.`,
  );

export const unreadResults = () =>
  overloaded("results_unread", "Too many results are unread: read the session's responses.");

/** `number`: 0, or that of an open call of the session. */
export function callNumberTaken(number: bigint): CallError {
  const description =
    number === 0n
      ? "is 0: number calls from 1 on"
      : `is ${number}, the number of an open call of this session: that call goes on, and this command was rejected`;
  return badRequest([{ field: "call", description }]);
}

export const noCommand = () =>
  badRequest([{ field: "command", description: "is required: say what this call asks for" }]);

export const sessionSilent = (silentMs: number) =>
  new CallError(
    "SESSION_SILENT",
    `The client sent nothing in this session for ${silentMs} ms: open a new one, and use its tickets and leases there.`,
    { retryAfterMs: bounds.SHUTTING_DOWN_RETRY_AFTER_MS },
  );

export const timedOut = errorOf("TIMEOUT", "The command's timeout has passed. It may have taken effect.");

export const cancelled = errorOf("CANCELLED", "The client cancelled the call. It may have taken effect.");

/** Has the reason of `shuttingDown`, because the client has to do the same. */
export const servedElsewhere = () =>
  shuttingDown("This server has lost its database, but another server reaches it: repeat the call there.");

/** The same reason again: only this connection ends, but clients that know this reason open another one. */
export const connectionTooOld = () =>
  shuttingDown("This connection has reached its greatest age: call again, over a new one.");

export const shuttingDown = (message = "This server is stopping: call again, through another one.") =>
  new CallError("SHUTTING_DOWN", message, { retryAfterMs: bounds.SHUTTING_DOWN_RETRY_AFTER_MS });

export const headersTooLarge = (bytesMax: number) =>
  new CallError(
    "MESSAGE_TOO_LARGE",
    `The headers of the call are larger than the ${bytesMax} bytes that this server accepts (ROWLOCK_HEADER_BYTES_MAX).`,
    { metadata: { bytes_max: String(bytesMax) } },
  );

export const messageTooLarge = (bytesMax: number) =>
  new CallError(
    "MESSAGE_TOO_LARGE",
    `The message is larger than the ${bytesMax} bytes that this server accepts.`,
    { metadata: { bytes_max: String(bytesMax) } },
  );
