// The one error class: errors that a server sends, refusals as exceptions, and errors of this client itself.

import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type ServiceError, status } from "@grpc/grpc-js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "#proto/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "#proto/google/rpc/status_pb.js";
import { ClaimEndSchema } from "#proto/rowlock/v1/lock_pb.js";
import { type ClaimEndView, claimEndView } from "./claim-end.ts";
import { canHeal, type Diagnosis } from "./diagnosis.ts";
import type { Reason, ServerReason } from "./reason.ts";
import type { Refusal } from "./refusal.ts";
import { msOf } from "./times.ts";

/** An invalid field of a request. */
export interface Violation {
  readonly field: string;
  readonly description: string;
}

export interface RowlockErrorDetails {
  readonly violations?: readonly Violation[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number | undefined;
  readonly refusal?: Refusal;
  readonly end?: ClaimEndView;
  readonly diagnoses?: readonly Diagnosis[];
  readonly cause?: unknown;
}

const DETAILS = "grpc-status-details-bin";

/** An error of a call. The client throws it for everything except invalid options, which are a RangeError. */
export class RowlockError extends Error {
  /** Why, for programs to act on. A newer server may send a reason that this version does not know. */
  readonly reason: Reason;
  /** The name of the gRPC code, such as `UNAVAILABLE`. */
  readonly code: string;
  /** All invalid fields of the request, for BAD_REQUEST. */
  readonly violations: readonly Violation[];
  /** Details for programs, such as `version` of VERSION_MISMATCH. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds after which the server says that another try can help; undefined if it does not say. */
  readonly retryAfterMs: number | undefined;
  /** The refusal, if the lock was refused. */
  readonly refusal: Refusal | undefined;
  /** How the lease ended, for LEASE_LOST; undefined if that is not known. */
  readonly end: ClaimEndView | undefined;
  /** What the client has found at each address, for NO_SERVER; empty if it has not looked. */
  readonly diagnoses: readonly Diagnosis[];

  constructor(reason: Reason, code: string, message: string, details: RowlockErrorDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = "RowlockError";
    this.reason = reason;
    this.code = code;
    this.violations = details.violations ?? [];
    this.metadata = details.metadata ?? {};
    this.retryAfterMs = details.retryAfterMs;
    this.refusal = details.refusal;
    this.end = details.end;
    this.diagnoses = details.diagnoses ?? [];
  }

  /** Makes the error of a call in a session. */
  static ofStatus({ code, message, details }: Status): RowlockError {
    const unpacked = <Kind extends Parameters<typeof anyUnpack>[1]>(kind: Kind) =>
      details.map((any) => anyUnpack(any, kind)).find((found) => found !== undefined);
    const info = unpacked(ErrorInfoSchema);
    const delay = unpacked(RetryInfoSchema)?.retryDelay;
    const violations = unpacked(BadRequestSchema)?.fieldViolations ?? [];
    const end = unpacked(ClaimEndSchema);
    return new RowlockError(
      info?.domain === "rowlock" ? (info.reason as ServerReason) : "UNKNOWN",
      status[code] ?? "UNKNOWN",
      message,
      {
        violations: violations.map(({ field, description }) => ({ field, description })),
        metadata: info?.metadata ?? {},
        retryAfterMs: delay && msOf(delay),
        ...(end && { end: claimEndView(end) }),
      },
    );
  }

  /** Makes the error of a unary call, or of a whole session. */
  static ofCall(error: ServiceError): RowlockError {
    const [bytes] = error.metadata?.get(DETAILS) ?? [];
    if (bytes instanceof Buffer) return RowlockError.ofStatus(fromBinary(StatusSchema, bytes));
    return new RowlockError("UNKNOWN", status[error.code] ?? "UNKNOWN", error.details, { cause: error });
  }

  static refused(name: string, refusal: Refusal): RowlockError {
    const { lockName = name } = refusal;
    const because = lockName === name ? "" : `, because of "${lockName}"`;
    return new RowlockError(
      refusal.reason,
      "FAILED_PRECONDITION",
      `The lock "${name}" was not granted${because}: ${refusal.message}`,
      {
        refusal,
        retryAfterMs: refusal.retryAfterMs,
      },
    );
  }

  /** Returns anything thrown as a RowlockError; any other type is a bug. */
  static of(error: unknown): RowlockError {
    if (error instanceof RowlockError) return error;
    return new RowlockError("UNKNOWN", "INTERNAL", String(error), { cause: error });
  }

  /** Makes the error of a client that cannot present its credentials. */
  static noCredentials(message: string, cause?: unknown): RowlockError {
    return new RowlockError("CREDENTIALS_MISSING", "UNAUTHENTICATED", message, { cause });
  }

  static stopping(address: string): RowlockError {
    return new RowlockError("SHUTTING_DOWN", "UNAVAILABLE", `${address} is stopping.`);
  }

  /** Makes the error of a request that no message can hold, for example because of a NaN. */
  static unsendable(cause: unknown): RowlockError {
    const words = cause instanceof Error ? cause.message : String(cause);
    return new RowlockError("BAD_REQUEST", "INVALID_ARGUMENT", `The request cannot be encoded: ${words}`, {
      cause,
    });
  }

  static hadEnded(name: string): RowlockError {
    const message = `The lease on "${name}" ended before a server confirmed its release, so others may have held the lock.`;
    return new RowlockError("LEASE_LOST", "FAILED_PRECONDITION", message);
  }

  /** Makes the error of calls that no server answers. */
  static noServer(message: string, diagnoses: readonly Diagnosis[], cause?: RowlockError): RowlockError {
    return new RowlockError("NO_SERVER", "UNAVAILABLE", message, { diagnoses, ...(cause && { cause }) });
  }

  static ttlTooShort(name: string): RowlockError {
    const message = `The lock "${name}" was granted, but answers arrive too late to renew a lease with this ttl: use a longer ttl.`;
    return new RowlockError("TTL_TOO_SHORT", "FAILED_PRECONDITION", message);
  }

  /** Makes the error of a spend that a server has answered with a lease, as it knows no spends. */
  static cannotSpend(): RowlockError {
    const message = "The server is older than this client and cannot spend: update it.";
    return new RowlockError("UNKNOWN", "FAILED_PRECONDITION", message);
  }

  /** Makes the error of a request for several locks that a server has answered with the first one alone. */
  static cannotTakeSeveral(): RowlockError {
    const message = "The server is older than this client and cannot take several locks at once: update it.";
    return new RowlockError("UNKNOWN", "FAILED_PRECONDITION", message);
  }

  static cancelled(): RowlockError {
    return new RowlockError("CANCELLED", "CANCELLED", "The caller cancelled the call.");
  }

  static closed(): RowlockError {
    return new RowlockError("CLOSED", "CANCELLED", "This client was closed.");
  }

  /** Whether it is unknown who calls. The call was not made; with other credentials, it may be. */
  get isOfCredentials(): boolean {
    return this.reason.startsWith("CREDENTIALS_");
  }

  /** Whether the server has answered that it changed nothing, so that a retry is safe. */
  get isUndone(): boolean {
    return (
      this.reason === "OVERLOADED" ||
      this.reason === "DATABASE_UNAVAILABLE" ||
      this.reason === "SHUTTING_DOWN" ||
      this.reason === "KEYS_UNAVAILABLE" ||
      this.isOfCredentials
    );
  }

  /** Whether no waiting helps: each server was found to be none for this client, see diagnosis.ts. */
  get isHopeless(): boolean {
    return this.diagnoses.length > 0 && this.diagnoses.every(({ kind }) => !canHeal(kind));
  }

  /** Returns this error of a release that was refused for what it said, when the lock was released without that. */
  givenBack(): RowlockError {
    return this.#with(`${this.message.replace(/\.$/, "")}; the lock was given back.`, {});
  }

  /** Returns this error with the exception that its work threw beside it. */
  besides(thrown: unknown): RowlockError {
    return this.#with(this.message, { cause: thrown });
  }

  #with(message: string, more: RowlockErrorDetails): RowlockError {
    const { violations, metadata, retryAfterMs, refusal, end, diagnoses, cause } = this;
    const details = {
      ...{ violations, metadata, retryAfterMs, diagnoses, cause },
      ...(refusal && { refusal }),
      ...(end && { end }),
    };
    return new RowlockError(this.reason, this.code, message, { ...details, ...more });
  }

  /** Returns this error with a warning: a server may have granted this request for a lease without end. */
  mayBeHeld(name: string, requestId: string, isGivenBack: boolean): RowlockError {
    const rest = isGivenBack
      ? "this client keeps trying to release it"
      : "acquire it again with that request id, or release it";
    const message = `${this.message} The lock "${name}" may be held, under the request id ${requestId}: ${rest}.`;
    const metadata = { ...this.metadata, request_id: requestId };
    return new RowlockError(this.reason, this.code, message, {
      metadata,
      retryAfterMs: this.retryAfterMs,
      cause: this,
    });
  }

  /** Whether an earlier try of the same call may have taken effect, although this one has not. */
  get leavesInDoubt(): boolean {
    return this.isTransient || this.isOfCredentials || this.reason === "CLOSED";
  }

  /** Whether the same call may succeed a little later. It does not say that a retry is safe: see `isUndone`. */
  get isTransient(): boolean {
    return this.code === "UNAVAILABLE" || this.reason === "OVERLOADED";
  }
}
