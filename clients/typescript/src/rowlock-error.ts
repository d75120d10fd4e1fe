// The one class of errors: what a server has said, what was refused where a lock was demanded, and what this client finds.

import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "#proto/google/rpc/status_pb.js";
import type { Refusal, RefusalName } from "./refusal.ts";
import { msOf } from "./times.ts";

/** Of the server, as the table in lock_service.proto explains them. */
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
  | "SESSION_SILENT"
  | "TIMEOUT"
  | "CANCELLED"
  | "INTERNAL";

/**
 * Of this client: no server has answered in time; the client was closed; the connection was lost, and what was asked for
 * must not be repeated, so it may have taken effect or not; answers take so long that the lease cannot be renewed in time; an
 * error without a reason, of a proxy for one.
 */
export type ClientReason = "NO_SERVER" | "CLOSED" | "CONNECTION_LOST" | "TTL_TOO_SHORT" | "UNKNOWN";

export type Reason = ServerReason | ClientReason | RefusalName;

/** What is wrong with one field of a request. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

export interface RowlockErrorDetails {
  readonly violations?: readonly Violation[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number | undefined;
  readonly refusal?: Refusal;
  readonly cause?: unknown;
}

const DETAILS = "grpc-status-details-bin";

export class RowlockError extends Error {
  /** What a program acts on. */
  readonly reason: Reason;
  /** The name of the gRPC code, such as `UNAVAILABLE`. */
  readonly code: string;
  /** All that is wrong with a request, for BAD_REQUEST. */
  readonly violations: readonly Violation[];
  /** What the server adds for programs, such as `end_reason` of LEASE_LOST and `version` of VERSION_MISMATCH. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When another try can help, as the server says. */
  readonly retryAfterMs: number | undefined;
  /** Where the lock was refused. */
  readonly refusal: Refusal | undefined;

  constructor(reason: Reason, code: string, message: string, details: RowlockErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = "RowlockError";
    this.reason = reason;
    this.code = code;
    this.violations = details.violations ?? [];
    this.metadata = details.metadata ?? {};
    this.retryAfterMs = details.retryAfterMs;
    this.refusal = details.refusal;
  }

  /** Of a call of a session. */
  static ofStatus({ code, message, details }: Status): RowlockError {
    const unpacked = <Kind extends Parameters<typeof anyUnpack>[1]>(kind: Kind) =>
      details.map((any) => anyUnpack(any, kind)).find((found) => found !== undefined);
    const info = unpacked(ErrorInfoSchema);
    const delay = unpacked(RetryInfoSchema)?.retryDelay;
    const violations = unpacked(BadRequestSchema)?.fieldViolations ?? [];
    return new RowlockError(
      info?.domain === "rowlock" ? (info.reason as ServerReason) : "UNKNOWN",
      status[code] ?? "UNKNOWN",
      message,
      {
        violations: violations.map(({ field, description }) => ({ field, description })),
        metadata: info?.metadata ?? {},
        retryAfterMs: delay && msOf(delay),
      },
    );
  }

  /** Of a call of its own, or of a session as a whole. */
  static ofCall(error: ServiceError): RowlockError {
    const [bytes] = error.metadata?.get(DETAILS) ?? [];
    if (bytes instanceof Buffer) return RowlockError.ofStatus(fromBinary(StatusSchema, bytes));
    return new RowlockError("UNKNOWN", status[error.code] ?? "UNKNOWN", error.details, { cause: error });
  }

  static refused(name: string, refusal: Refusal): RowlockError {
    return new RowlockError(
      refusal.reason,
      "FAILED_PRECONDITION",
      `The lock "${name}" was not granted: ${refusal.message}`,
      {
        refusal,
        retryAfterMs: refusal.retryAfterMs,
      },
    );
  }

  /** Whatever was thrown; what is none of ours is a bug. */
  static of(error: unknown): RowlockError {
    if (error instanceof RowlockError) return error;
    return new RowlockError("UNKNOWN", "INTERNAL", String(error), { cause: error });
  }

  static stopping(address: string): RowlockError {
    return new RowlockError("SHUTTING_DOWN", "UNAVAILABLE", `${address} is stopping.`);
  }

  /** What was asked for cannot be put into a message: a number that is none, for one. */
  static unsendable(cause: unknown): RowlockError {
    const words = cause instanceof Error ? cause.message : String(cause);
    return new RowlockError("BAD_REQUEST", "INVALID_ARGUMENT", `This cannot be sent: ${words}`, { cause });
  }

  static hadEnded(name: string): RowlockError {
    const message = `The lease on "${name}" had ended before it was released, so others may have held the lock.`;
    return new RowlockError("LEASE_LOST", "FAILED_PRECONDITION", message);
  }

  static ttlTooShort(name: string): RowlockError {
    const message = `The lock "${name}" was granted, but answers take too long to renew a lease of this ttl in time: ask for a longer ttl.`;
    return new RowlockError("TTL_TOO_SHORT", "FAILED_PRECONDITION", message);
  }

  static cancelled(): RowlockError {
    return new RowlockError("CANCELLED", "CANCELLED", "The call was given up by its caller.");
  }

  static closed(): RowlockError {
    return new RowlockError("CLOSED", "CANCELLED", "This client was closed.");
  }

  /** Whether the server has answered that nothing was done. */
  get isUndone(): boolean {
    return (
      this.reason === "OVERLOADED" ||
      this.reason === "DATABASE_UNAVAILABLE" ||
      this.reason === "SHUTTING_DOWN"
    );
  }

  /** The same, of a request for a lease without end that a server may have granted. */
  mayBeHeld(name: string, requestId: string, isGivenBack: boolean): RowlockError {
    const rest = isGivenBack
      ? "this client goes on giving it back"
      : "ask for it again under that request id, or release it";
    const message = `${this.message} The lock "${name}" may be held, under the request id ${requestId}: ${rest}.`;
    const metadata = { ...this.metadata, request_id: requestId };
    return new RowlockError(this.reason, this.code, message, {
      metadata,
      retryAfterMs: this.retryAfterMs,
      cause: this,
    });
  }

  /** Whether the same call, a little later, may well succeed. */
  get isTransient(): boolean {
    return this.code === "UNAVAILABLE" || this.reason === "OVERLOADED";
  }
}
