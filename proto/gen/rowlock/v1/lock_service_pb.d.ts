// The verbs of Rowlock.
//
// An error is a google.rpc.Status in the `grpc-status-details-bin` trailer. It has a google.rpc.ErrorInfo of domain
// `rowlock` with a stable reason, and a google.rpc.RetryInfo if a retry can help:
//
//   INVALID_ARGUMENT    BAD_REQUEST         google.rpc.BadRequest lists every wrong field at once; a oneof that is not
//                                           set is a field, too: `target`, `from`
//   INVALID_ARGUMENT    MALFORMED_MESSAGE   the bytes are not the message, for example text that is not UTF-8
//   NOT_FOUND           UNKNOWN_CLAIM       no such ticket or lease, or it ended longer ago than the retention time
//   NOT_FOUND           UNKNOWN_LOCK        ForceRelease: no such lock
//   FAILED_PRECONDITION LEASE_LOST          the lease has ended, for good; metadata has `end_reason`, a name of
//                                           RefusalReason: EXPIRED, RELEASED, FORCE_RELEASED, LAPSED, ...
//   FAILED_PRECONDITION NOT_GRANTED_YET     the ticket still waits
//   FAILED_PRECONDITION LOCK_IN_USE         DeleteRecord: somebody holds the lock or waits for it
//   ALREADY_EXISTS      REQUEST_ID_REUSED   the request id belongs to a claim for another lock, mode or number of
//                                           permits
//   ABORTED             VERSION_MISMATCH    expected_version is not the present version, which metadata has as
//                                           `version`, in decimal
//   RESOURCE_EXHAUSTED  OVERLOADED          a bound of the server is reached; metadata has its name as `bound`:
//                                           `commands_queued`, `names_queued` (calls), `names_created` (new names of
//                                           locks this second), `listings_queued` (GetLock, ListLocks, ListLimits,
//                                           ListClaims, ListChanges, ExplainWait, WatchLocks), `answers_queued` (reads that complete an answer),
//                                           `captures_queued` (Capture), `watches`, `watched_locks` (WatchLocks),
//                                           `calls_on_connection` (this connection has too many calls, including
//                                           cancelled ones), `waits_on_connection` (this connection has too many open
//                                           waits; open another one), `session_waits`, `session_commands` (of one
//                                           session), `principal_commands`, `principal_waits` (of all sessions and
//                                           connections of the caller), `client_renewals` (renewals far beyond what
//                                           the ttl of the caller's leases asks for, and renewals and releases of
//                                           leases that do not exist), `results_unread` (the client of a session does
//                                           not read),
//                                           `server_waits` (also calls whose requests have not arrived),
//                                           `server_sessions` (the server has no memory for more;
//                                           another server may; open ones go on), and the quotas of the caller:
//                                           `quota_claims`, `quota_waiters`, `quota_sessions`, `quota_calls`,
//                                           `quota_names`, `quota_records` (UpdateRecord of a lock without a record)
//   RESOURCE_EXHAUSTED  MESSAGE_TOO_LARGE   the message exceeds the server's receive limit, which metadata has as
//                                           `bytes_max`
//   UNKNOWN             OUTCOME_UNKNOWN     SetLimit, UpdateRecord, DeleteRecord, ForceRelease: the database did not report
//                                           whether it committed the change, and the server cannot find out, because
//                                           somebody else has changed the lock or the pattern since, or the database
//                                           is still away. Read the present state, then decide again
//   UNAVAILABLE         DATABASE_UNAVAILABLE, SHUTTING_DOWN
//   UNAVAILABLE         KEYS_UNAVAILABLE    the server could not load the keys that JWTs are checked with
//   UNAVAILABLE         SESSION_SILENT      the client of the session was silent for too long
//   UNAUTHENTICATED     CREDENTIALS_MISSING the server wants to know who calls: send `authorization: Bearer TOKEN`, or
//                                           connect with a client certificate
//   UNAUTHENTICATED     CREDENTIALS_WRONG   the server does not know the token, or nobody whom it trusts has signed it
//   UNAUTHENTICATED     CREDENTIALS_EXPIRED the token or certificate is past its end: get a new one, and call again.
//                                           Leases and places are kept
//   PERMISSION_DENIED   RIGHT_MISSING       the policy of the server does not allow this; metadata has the right that is
//                                           missing as `right` and the caller as `principal`. The answer is the same
//                                           whether the lock exists or not
//   DEADLINE_EXCEEDED   TIMEOUT             the timeout of a session's command has passed, and the command may have taken
//                                           effect; or a request has taken too long to arrive, and nothing was done
//   CANCELLED           CANCELLED           the client cancelled a command of its session; it may have taken effect
//   INTERNAL            INTERNAL            a bug; the server's log has the cause under the `incident` of the metadata
//
// Keys of metadata are snake_case. Each reason has only the keys named here.
//
// A call that ends in UNAVAILABLE, DEADLINE_EXCEEDED or CANCELLED may have taken effect. Acquire and Capture with a
// request_id, Renew, Release and all reads are safe to repeat.
//
// If SetLimit, UpdateRecord, DeleteRecord or ForceRelease of a name fails as DATABASE_UNAVAILABLE, SHUTTING_DOWN or OVERLOADED,
// the server has not made the change, and the call is safe to repeat. After a lost answer or OUTCOME_UNKNOWN, a repeated call
// could undo what somebody else has set since, or end the leases of the next holders: read first (GetLock, ListLimits). The
// server itself never makes a change twice, nor over a later change.
//
// A deadline of a call beyond 24 days counts as none.

// @generated by protoc-gen-es v2.17.0 with parameter "target=js+dts,import_extension=js,json_types=true"
// @generated from file rowlock/v1/lock_service.proto (package rowlock.v1, syntax proto3)
/* eslint-disable */

import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
import type { Change, ChangeJson, ChangeKind, ChangeKindJson, Claim, ClaimJson, ClaimState, ClaimStateJson, Lease, LeaseJson, Lock, LockJson, LockRecord, LockRecordJson, Mode, ModeJson, Refusal, RefusalJson, RefusalReason, RefusalReasonJson, Ticket, TicketJson, WaitCause, WaitCauseJson, WaitEstimate, WaitEstimateJson, WhenBusy, WhenBusyJson } from "./lock_pb.js";
import type { Duration, DurationJson, Empty, EmptyJson, Timestamp, TimestampJson } from "@bufbuild/protobuf/wkt";
import type { Status, StatusJson } from "../../google/rpc/status_pb.js";

/**
 * Describes the file rowlock/v1/lock_service.proto.
 */
export declare const file_rowlock_v1_lock_service: GenFile;

/**
 * What to acquire.
 *
 * @generated from message rowlock.v1.AcquireRequest
 */
export declare type AcquireRequest = Message<"rowlock.v1.AcquireRequest"> & {
  /**
   * The lock: 1 to 255 bytes, not beginning with NUL. It exists as soon as somebody names it.
   *
   * @generated from field: string name = 1;
   */
  name: string;

  /**
   * The mode; unspecified means MODE_PERMIT.
   *
   * @generated from field: rowlock.v1.Mode mode = 2;
   */
  mode: Mode;

  /**
   * Permits to take, all or none; at most 1,000,000; 0 means 1. With MODE_SHARED and MODE_EXCLUSIVE: 0 or 1.
   *
   * @generated from field: uint32 permits = 3;
   */
  permits: number;

  /**
   * Time to live from the grant, 1 s to 24 days; 30 s if unset. Not with no_expiry.
   *
   * @generated from field: google.protobuf.Duration ttl = 4;
   */
  ttl?: Duration | undefined;

  /**
   * The lease has no end: it lasts until it is released or force-released.
   *
   * @generated from field: bool no_expiry = 5;
   */
  noExpiry: boolean;

  /**
   * The caller's own id for this request, up to 128 bytes, unique over all locks. The same id is always the same
   * claim, until the retention time after its end, so a repeated call cannot take the lock twice. If that claim has
   * ended, the answer is a refusal that says how it ended. Must not begin with NUL. If empty, the call is not safe to
   * repeat.
   *
   * @generated from field: string request_id = 6;
   */
  requestId: string;

  /**
   * Who asks, for people who look at the lock; up to 255 bytes.
   *
   * @generated from field: string owner = 7;
   */
  owner: string;

  /**
   * What else they should see: at most 16 labels, keys of 1 to 63 bytes, values up to 255 bytes.
   *
   * @generated from field: map<string, string> labels = 8;
   */
  labels: { [key: string]: string };

  /**
   * What to do if the server cannot grant it at once; unspecified means WHEN_BUSY_REFUSE. In a WaitInQueueRequest leave
   * it unspecified; WHEN_BUSY_REFUSE is an error there.
   *
   * @generated from field: rowlock.v1.WhenBusy when_busy = 9;
   */
  whenBusy: WhenBusy;

  /**
   * The longest time to wait, 1 ms to 24 days; then the wait ends with TIMED_OUT. Unset: as long as there are signs of
   * life. Not with WHEN_BUSY_REFUSE.
   *
   * @generated from field: google.protobuf.Duration max_wait = 10;
   */
  maxWait?: Duration | undefined;

  /**
   * When the lease is *released*, the next grant comes at granted_at + min_interval or later: "at most once an hour". 0
   * to 10 years (of 365.25 days). A lease that is lost does not set it, so that another holder can take over at once.
   * Not with no_expiry.
   *
   * @generated from field: google.protobuf.Duration min_interval = 11;
   */
  minInterval?: Duration | undefined;

  /**
   * When a confirmed lease is *lost* (EXPIRED or FORCE_RELEASED), the server grants nothing for this long, 0 to 10
   * years: time for the lost holder's work to end. For a lease that was not confirmed, see Lease.provisional.
   *
   * @generated from field: google.protobuf.Duration lock_delay = 12;
   */
  lockDelay?: Duration | undefined;

  /**
   * The lock's status after a confirmed lease is lost, up to 63 bytes, so that a crash leaves no task "in progress" for
   * ever. "" is a status too; unset: the status stays.
   *
   * @generated from field: optional string status_if_lost = 13;
   */
  statusIfLost?: string | undefined;

  /**
   * Grant only if the lock's status is one of these at the moment of the grant; at most 16, up to 63 bytes each. ""
   * also matches a lock without a record. Empty: any status.
   *
   * @generated from field: repeated string if_status = 14;
   */
  ifStatus: string[];
};

/**
 * What to acquire.
 *
 * @generated from message rowlock.v1.AcquireRequest
 */
export declare type AcquireRequestJson = {
  /**
   * The lock: 1 to 255 bytes, not beginning with NUL. It exists as soon as somebody names it.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * The mode; unspecified means MODE_PERMIT.
   *
   * @generated from field: rowlock.v1.Mode mode = 2;
   */
  mode?: ModeJson;

  /**
   * Permits to take, all or none; at most 1,000,000; 0 means 1. With MODE_SHARED and MODE_EXCLUSIVE: 0 or 1.
   *
   * @generated from field: uint32 permits = 3;
   */
  permits?: number;

  /**
   * Time to live from the grant, 1 s to 24 days; 30 s if unset. Not with no_expiry.
   *
   * @generated from field: google.protobuf.Duration ttl = 4;
   */
  ttl?: DurationJson;

  /**
   * The lease has no end: it lasts until it is released or force-released.
   *
   * @generated from field: bool no_expiry = 5;
   */
  noExpiry?: boolean;

  /**
   * The caller's own id for this request, up to 128 bytes, unique over all locks. The same id is always the same
   * claim, until the retention time after its end, so a repeated call cannot take the lock twice. If that claim has
   * ended, the answer is a refusal that says how it ended. Must not begin with NUL. If empty, the call is not safe to
   * repeat.
   *
   * @generated from field: string request_id = 6;
   */
  requestId?: string;

  /**
   * Who asks, for people who look at the lock; up to 255 bytes.
   *
   * @generated from field: string owner = 7;
   */
  owner?: string;

  /**
   * What else they should see: at most 16 labels, keys of 1 to 63 bytes, values up to 255 bytes.
   *
   * @generated from field: map<string, string> labels = 8;
   */
  labels?: { [key: string]: string };

  /**
   * What to do if the server cannot grant it at once; unspecified means WHEN_BUSY_REFUSE. In a WaitInQueueRequest leave
   * it unspecified; WHEN_BUSY_REFUSE is an error there.
   *
   * @generated from field: rowlock.v1.WhenBusy when_busy = 9;
   */
  whenBusy?: WhenBusyJson;

  /**
   * The longest time to wait, 1 ms to 24 days; then the wait ends with TIMED_OUT. Unset: as long as there are signs of
   * life. Not with WHEN_BUSY_REFUSE.
   *
   * @generated from field: google.protobuf.Duration max_wait = 10;
   */
  maxWait?: DurationJson;

  /**
   * When the lease is *released*, the next grant comes at granted_at + min_interval or later: "at most once an hour". 0
   * to 10 years (of 365.25 days). A lease that is lost does not set it, so that another holder can take over at once.
   * Not with no_expiry.
   *
   * @generated from field: google.protobuf.Duration min_interval = 11;
   */
  minInterval?: DurationJson;

  /**
   * When a confirmed lease is *lost* (EXPIRED or FORCE_RELEASED), the server grants nothing for this long, 0 to 10
   * years: time for the lost holder's work to end. For a lease that was not confirmed, see Lease.provisional.
   *
   * @generated from field: google.protobuf.Duration lock_delay = 12;
   */
  lockDelay?: DurationJson;

  /**
   * The lock's status after a confirmed lease is lost, up to 63 bytes, so that a crash leaves no task "in progress" for
   * ever. "" is a status too; unset: the status stays.
   *
   * @generated from field: optional string status_if_lost = 13;
   */
  statusIfLost?: string;

  /**
   * Grant only if the lock's status is one of these at the moment of the grant; at most 16, up to 63 bytes each. ""
   * also matches a lock without a record. Empty: any status.
   *
   * @generated from field: repeated string if_status = 14;
   */
  ifStatus?: string[];
};

/**
 * Describes the message rowlock.v1.AcquireRequest.
 * Use `create(AcquireRequestSchema)` to create a new message.
 */
export declare const AcquireRequestSchema: GenMessage<AcquireRequest, {jsonType: AcquireRequestJson}>;

/**
 * The outcome.
 *
 * @generated from message rowlock.v1.AcquireResponse
 */
export declare type AcquireResponse = Message<"rowlock.v1.AcquireResponse"> & {
  /**
   * Exactly one is set.
   *
   * @generated from oneof rowlock.v1.AcquireResponse.outcome
   */
  outcome: {
    /**
     * Granted.
     *
     * @generated from field: rowlock.v1.Lease lease = 1;
     */
    value: Lease;
    case: "lease";
  } | {
    /**
     * In the queue (WHEN_BUSY_ENQUEUE).
     *
     * @generated from field: rowlock.v1.Ticket ticket = 2;
     */
    value: Ticket;
    case: "ticket";
  } | {
    /**
     * Not granted.
     *
     * @generated from field: rowlock.v1.Refusal refusal = 3;
     */
    value: Refusal;
    case: "refusal";
  } | { case: undefined; value?: undefined };
};

/**
 * The outcome.
 *
 * @generated from message rowlock.v1.AcquireResponse
 */
export declare type AcquireResponseJson = {
  /**
   * Granted.
   *
   * @generated from field: rowlock.v1.Lease lease = 1;
   */
  lease?: LeaseJson;

  /**
   * In the queue (WHEN_BUSY_ENQUEUE).
   *
   * @generated from field: rowlock.v1.Ticket ticket = 2;
   */
  ticket?: TicketJson;

  /**
   * Not granted.
   *
   * @generated from field: rowlock.v1.Refusal refusal = 3;
   */
  refusal?: RefusalJson;
};

/**
 * Describes the message rowlock.v1.AcquireResponse.
 * Use `create(AcquireResponseSchema)` to create a new message.
 */
export declare const AcquireResponseSchema: GenMessage<AcquireResponse, {jsonType: AcquireResponseJson}>;

/**
 * What to wait for.
 *
 * @generated from message rowlock.v1.WaitInQueueRequest
 */
export declare type WaitInQueueRequest = Message<"rowlock.v1.WaitInQueueRequest"> & {
  /**
   * Exactly one must be set.
   *
   * @generated from oneof rowlock.v1.WaitInQueueRequest.target
   */
  target: {
    /**
     * A new request, which takes a place. Set a request_id, so that you can repeat the call if its first answer is
     * lost.
     *
     * @generated from field: rowlock.v1.AcquireRequest acquire = 1;
     */
    value: AcquireRequest;
    case: "acquire";
  } | {
    /**
     * A ticket from an Acquire or from an earlier stream.
     *
     * @generated from field: string ticket_id = 2;
     */
    value: string;
    case: "ticketId";
  } | { case: undefined; value?: undefined };

  /**
   * The shortest time between two positions, 0 to 1 hour; 1 s if unset. Grants and ends are sent at once.
   *
   * @generated from field: google.protobuf.Duration min_update_interval = 3;
   */
  minUpdateInterval?: Duration | undefined;
};

/**
 * What to wait for.
 *
 * @generated from message rowlock.v1.WaitInQueueRequest
 */
export declare type WaitInQueueRequestJson = {
  /**
   * A new request, which takes a place. Set a request_id, so that you can repeat the call if its first answer is
   * lost.
   *
   * @generated from field: rowlock.v1.AcquireRequest acquire = 1;
   */
  acquire?: AcquireRequestJson;

  /**
   * A ticket from an Acquire or from an earlier stream.
   *
   * @generated from field: string ticket_id = 2;
   */
  ticketId?: string;

  /**
   * The shortest time between two positions, 0 to 1 hour; 1 s if unset. Grants and ends are sent at once.
   *
   * @generated from field: google.protobuf.Duration min_update_interval = 3;
   */
  minUpdateInterval?: DurationJson;
};

/**
 * Describes the message rowlock.v1.WaitInQueueRequest.
 * Use `create(WaitInQueueRequestSchema)` to create a new message.
 */
export declare const WaitInQueueRequestSchema: GenMessage<WaitInQueueRequest, {jsonType: WaitInQueueRequestJson}>;

/**
 * One step of a wait.
 *
 * @generated from message rowlock.v1.WaitInQueueResponse
 */
export declare type WaitInQueueResponse = Message<"rowlock.v1.WaitInQueueResponse"> & {
  /**
   * Exactly one is set.
   *
   * @generated from oneof rowlock.v1.WaitInQueueResponse.update
   */
  update: {
    /**
     * The current place.
     *
     * @generated from field: rowlock.v1.Ticket position = 1;
     */
    value: Ticket;
    case: "position";
  } | {
    /**
     * The lease; the last message. After a wait it is provisional: confirm it with one Renew, which gives it its whole
     * ttl.
     *
     * @generated from field: rowlock.v1.Lease granted = 2;
     */
    value: Lease;
    case: "granted";
  } | {
    /**
     * The wait ended without a lease; the last message.
     *
     * @generated from field: rowlock.v1.Refusal ended = 3;
     */
    value: Refusal;
    case: "ended";
  } | { case: undefined; value?: undefined };
};

/**
 * One step of a wait.
 *
 * @generated from message rowlock.v1.WaitInQueueResponse
 */
export declare type WaitInQueueResponseJson = {
  /**
   * The current place.
   *
   * @generated from field: rowlock.v1.Ticket position = 1;
   */
  position?: TicketJson;

  /**
   * The lease; the last message. After a wait it is provisional: confirm it with one Renew, which gives it its whole
   * ttl.
   *
   * @generated from field: rowlock.v1.Lease granted = 2;
   */
  granted?: LeaseJson;

  /**
   * The wait ended without a lease; the last message.
   *
   * @generated from field: rowlock.v1.Refusal ended = 3;
   */
  ended?: RefusalJson;
};

/**
 * Describes the message rowlock.v1.WaitInQueueResponse.
 * Use `create(WaitInQueueResponseSchema)` to create a new message.
 */
export declare const WaitInQueueResponseSchema: GenMessage<WaitInQueueResponse, {jsonType: WaitInQueueResponseJson}>;

/**
 * Which lease to renew.
 *
 * @generated from message rowlock.v1.RenewRequest
 */
export declare type RenewRequest = Message<"rowlock.v1.RenewRequest"> & {
  /**
   * The lease.
   *
   * @generated from field: string lease_id = 1;
   */
  leaseId: string;

  /**
   * Time to live from now, 1 s to 24 days. Unset: the last ttl that an Acquire or Renew of this lease asked for (a
   * lease without end stays without end).
   *
   * @generated from field: google.protobuf.Duration ttl = 2;
   */
  ttl?: Duration | undefined;
};

/**
 * Which lease to renew.
 *
 * @generated from message rowlock.v1.RenewRequest
 */
export declare type RenewRequestJson = {
  /**
   * The lease.
   *
   * @generated from field: string lease_id = 1;
   */
  leaseId?: string;

  /**
   * Time to live from now, 1 s to 24 days. Unset: the last ttl that an Acquire or Renew of this lease asked for (a
   * lease without end stays without end).
   *
   * @generated from field: google.protobuf.Duration ttl = 2;
   */
  ttl?: DurationJson;
};

/**
 * Describes the message rowlock.v1.RenewRequest.
 * Use `create(RenewRequestSchema)` to create a new message.
 */
export declare const RenewRequestSchema: GenMessage<RenewRequest, {jsonType: RenewRequestJson}>;

/**
 * The renewed lease.
 *
 * @generated from message rowlock.v1.RenewResponse
 */
export declare type RenewResponse = Message<"rowlock.v1.RenewResponse"> & {
  /**
   * With its new remaining time.
   *
   * @generated from field: rowlock.v1.Lease lease = 1;
   */
  lease?: Lease | undefined;
};

/**
 * The renewed lease.
 *
 * @generated from message rowlock.v1.RenewResponse
 */
export declare type RenewResponseJson = {
  /**
   * With its new remaining time.
   *
   * @generated from field: rowlock.v1.Lease lease = 1;
   */
  lease?: LeaseJson;
};

/**
 * Describes the message rowlock.v1.RenewResponse.
 * Use `create(RenewResponseSchema)` to create a new message.
 */
export declare const RenewResponseSchema: GenMessage<RenewResponse, {jsonType: RenewResponseJson}>;

/**
 * What to end.
 *
 * @generated from message rowlock.v1.ReleaseRequest
 */
export declare type ReleaseRequest = Message<"rowlock.v1.ReleaseRequest"> & {
  /**
   * The lease, or a ticket_id, whose claim then leaves the queue.
   *
   * @generated from field: string lease_id = 1;
   */
  leaseId: string;

  /**
   * The next grant comes at now + cool_down or later, 0 to 10 years. This replaces the lease's min_interval; 0 allows a
   * grant at once. Unset: min_interval applies. If the record has a later not_before, the later time wins.
   *
   * @generated from field: google.protobuf.Duration cool_down = 2;
   */
  coolDown?: Duration | undefined;

  /**
   * The lock's new status, up to 63 bytes. Unset: the status stays.
   *
   * @generated from field: optional string status = 3;
   */
  status?: string | undefined;

  /**
   * How many more grants are allowed, 0 to 1,000,000, for example after a success. Unset: the number stays.
   *
   * @generated from field: optional uint32 attempts_left = 4;
   */
  attemptsLeft?: number | undefined;
};

/**
 * What to end.
 *
 * @generated from message rowlock.v1.ReleaseRequest
 */
export declare type ReleaseRequestJson = {
  /**
   * The lease, or a ticket_id, whose claim then leaves the queue.
   *
   * @generated from field: string lease_id = 1;
   */
  leaseId?: string;

  /**
   * The next grant comes at now + cool_down or later, 0 to 10 years. This replaces the lease's min_interval; 0 allows a
   * grant at once. Unset: min_interval applies. If the record has a later not_before, the later time wins.
   *
   * @generated from field: google.protobuf.Duration cool_down = 2;
   */
  coolDown?: DurationJson;

  /**
   * The lock's new status, up to 63 bytes. Unset: the status stays.
   *
   * @generated from field: optional string status = 3;
   */
  status?: string;

  /**
   * How many more grants are allowed, 0 to 1,000,000, for example after a success. Unset: the number stays.
   *
   * @generated from field: optional uint32 attempts_left = 4;
   */
  attemptsLeft?: number;
};

/**
 * Describes the message rowlock.v1.ReleaseRequest.
 * Use `create(ReleaseRequestSchema)` to create a new message.
 */
export declare const ReleaseRequestSchema: GenMessage<ReleaseRequest, {jsonType: ReleaseRequestJson}>;

/**
 * Whether this call ended it.
 *
 * @generated from message rowlock.v1.ReleaseResponse
 */
export declare type ReleaseResponse = Message<"rowlock.v1.ReleaseResponse"> & {
  /**
   * True if this call ended the claim; false if it had ended before, however it ended.
   *
   * @generated from field: bool released = 1;
   */
  released: boolean;
};

/**
 * Whether this call ended it.
 *
 * @generated from message rowlock.v1.ReleaseResponse
 */
export declare type ReleaseResponseJson = {
  /**
   * True if this call ended the claim; false if it had ended before, however it ended.
   *
   * @generated from field: bool released = 1;
   */
  released?: boolean;
};

/**
 * Describes the message rowlock.v1.ReleaseResponse.
 * Use `create(ReleaseResponseSchema)` to create a new message.
 */
export declare const ReleaseResponseSchema: GenMessage<ReleaseResponse, {jsonType: ReleaseResponseJson}>;

/**
 * Which limit to set, and its value.
 *
 * @generated from message rowlock.v1.SetLimitRequest
 */
export declare type SetLimitRequest = Message<"rowlock.v1.SetLimitRequest"> & {
  /**
   * Exactly one must be set.
   *
   * @generated from oneof rowlock.v1.SetLimitRequest.target
   */
  target: {
    /**
     * One lock. A limit for a name takes precedence over every pattern.
     *
     * @generated from field: string name = 1;
     */
    value: string;
    case: "name";
  } | {
    /**
     * Every lock whose name begins with the part before the star: `etl/*` or `*`. One star, at the end; at most 255
     * bytes with it. Each matching name has this limit for itself. The longest matching pattern applies.
     *
     * @generated from field: string pattern = 2;
     */
    value: string;
    case: "pattern";
  } | { case: undefined; value?: undefined };

  /**
   * Exactly one must be set, so that a forgotten limit does not pause a lock. Later settings beside the limit have a
   * oneof each: one that is not set leaves its setting alone.
   *
   * @generated from oneof rowlock.v1.SetLimitRequest.new_limit
   */
  newLimit: {
    /**
     * Permits that may be held at once, 0 to 1,000,000; 0 pauses.
     *
     * @generated from field: uint32 limit = 3;
     */
    value: number;
    case: "limit";
  } | {
    /**
     * Removes this setting, so that the next best pattern or the default applies.
     *
     * @generated from field: google.protobuf.Empty unset_limit = 4;
     */
    value: Empty;
    case: "unsetLimit";
  } | { case: undefined; value?: undefined };

  /**
   * Change only if the setting has this version (0: only if it was never set); otherwise VERSION_MISMATCH.
   *
   * @generated from field: optional uint64 expected_version = 5;
   */
  expectedVersion?: bigint | undefined;

  /**
   * The reason, for people; up to 255 bytes.
   *
   * @generated from field: string reason = 6;
   */
  reason: string;
};

/**
 * Which limit to set, and its value.
 *
 * @generated from message rowlock.v1.SetLimitRequest
 */
export declare type SetLimitRequestJson = {
  /**
   * One lock. A limit for a name takes precedence over every pattern.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * Every lock whose name begins with the part before the star: `etl/*` or `*`. One star, at the end; at most 255
   * bytes with it. Each matching name has this limit for itself. The longest matching pattern applies.
   *
   * @generated from field: string pattern = 2;
   */
  pattern?: string;

  /**
   * Permits that may be held at once, 0 to 1,000,000; 0 pauses.
   *
   * @generated from field: uint32 limit = 3;
   */
  limit?: number;

  /**
   * Removes this setting, so that the next best pattern or the default applies.
   *
   * @generated from field: google.protobuf.Empty unset_limit = 4;
   */
  unsetLimit?: EmptyJson;

  /**
   * Change only if the setting has this version (0: only if it was never set); otherwise VERSION_MISMATCH.
   *
   * @generated from field: optional uint64 expected_version = 5;
   */
  expectedVersion?: string;

  /**
   * The reason, for people; up to 255 bytes.
   *
   * @generated from field: string reason = 6;
   */
  reason?: string;
};

/**
 * Describes the message rowlock.v1.SetLimitRequest.
 * Use `create(SetLimitRequestSchema)` to create a new message.
 */
export declare const SetLimitRequestSchema: GenMessage<SetLimitRequest, {jsonType: SetLimitRequestJson}>;

/**
 * The limit after the change.
 *
 * @generated from message rowlock.v1.SetLimitResponse
 */
export declare type SetLimitResponse = Message<"rowlock.v1.SetLimitResponse"> & {
  /**
   * The limit in force for the name; for a pattern, the limit that was set. If it was unset, the limit of the next
   * shorter pattern, or 1, the default.
   *
   * @generated from field: uint32 limit = 1;
   */
  limit: number;

  /**
   * The version of the setting, for the next expected_version.
   *
   * @generated from field: uint64 version = 2;
   */
  version: bigint;

  /**
   * Permits held; for a pattern, the sum over all matching locks, whichever setting applies to them.
   *
   * @generated from field: uint64 held_permits = 3;
   */
  heldPermits: bigint;

  /**
   * Waiters, counted in the same way.
   *
   * @generated from field: uint64 waiting = 4;
   */
  waiting: bigint;

  /**
   * More is held than the limit allows; for a pattern, at one or more of the locks to which it applies.
   *
   * @generated from field: bool draining = 5;
   */
  draining: boolean;

  /**
   * For a pattern: the number of servers that did not confirm within 7 s that they decide by this limit, because they
   * have died, hang or are cut off. If it is 0, no server grants by the old limit any more. For a name it is always 0,
   * because the limit is in the lock's own row.
   *
   * @generated from field: uint32 servers_behind = 6;
   */
  serversBehind: number;
};

/**
 * The limit after the change.
 *
 * @generated from message rowlock.v1.SetLimitResponse
 */
export declare type SetLimitResponseJson = {
  /**
   * The limit in force for the name; for a pattern, the limit that was set. If it was unset, the limit of the next
   * shorter pattern, or 1, the default.
   *
   * @generated from field: uint32 limit = 1;
   */
  limit?: number;

  /**
   * The version of the setting, for the next expected_version.
   *
   * @generated from field: uint64 version = 2;
   */
  version?: string;

  /**
   * Permits held; for a pattern, the sum over all matching locks, whichever setting applies to them.
   *
   * @generated from field: uint64 held_permits = 3;
   */
  heldPermits?: string;

  /**
   * Waiters, counted in the same way.
   *
   * @generated from field: uint64 waiting = 4;
   */
  waiting?: string;

  /**
   * More is held than the limit allows; for a pattern, at one or more of the locks to which it applies.
   *
   * @generated from field: bool draining = 5;
   */
  draining?: boolean;

  /**
   * For a pattern: the number of servers that did not confirm within 7 s that they decide by this limit, because they
   * have died, hang or are cut off. If it is 0, no server grants by the old limit any more. For a name it is always 0,
   * because the limit is in the lock's own row.
   *
   * @generated from field: uint32 servers_behind = 6;
   */
  serversBehind?: number;
};

/**
 * Describes the message rowlock.v1.SetLimitResponse.
 * Use `create(SetLimitResponseSchema)` to create a new message.
 */
export declare const SetLimitResponseSchema: GenMessage<SetLimitResponse, {jsonType: SetLimitResponseJson}>;

/**
 * Which lock to show.
 *
 * @generated from message rowlock.v1.GetLockRequest
 */
export declare type GetLockRequest = Message<"rowlock.v1.GetLockRequest"> & {
  /**
   * The lock, 1 to 255 bytes. The answer lists up to 100 holders and 100 first waiters.
   *
   * @generated from field: string name = 1;
   */
  name: string;
};

/**
 * Which lock to show.
 *
 * @generated from message rowlock.v1.GetLockRequest
 */
export declare type GetLockRequestJson = {
  /**
   * The lock, 1 to 255 bytes. The answer lists up to 100 holders and 100 first waiters.
   *
   * @generated from field: string name = 1;
   */
  name?: string;
};

/**
 * Describes the message rowlock.v1.GetLockRequest.
 * Use `create(GetLockRequestSchema)` to create a new message.
 */
export declare const GetLockRequestSchema: GenMessage<GetLockRequest, {jsonType: GetLockRequestJson}>;

/**
 * The lock.
 *
 * @generated from message rowlock.v1.GetLockResponse
 */
export declare type GetLockResponse = Message<"rowlock.v1.GetLockResponse"> & {
  /**
   * The lock now.
   *
   * @generated from field: rowlock.v1.Lock lock = 1;
   */
  lock?: Lock | undefined;
};

/**
 * The lock.
 *
 * @generated from message rowlock.v1.GetLockResponse
 */
export declare type GetLockResponseJson = {
  /**
   * The lock now.
   *
   * @generated from field: rowlock.v1.Lock lock = 1;
   */
  lock?: LockJson;
};

/**
 * Describes the message rowlock.v1.GetLockResponse.
 * Use `create(GetLockResponseSchema)` to create a new message.
 */
export declare const GetLockResponseSchema: GenMessage<GetLockResponse, {jsonType: GetLockResponseJson}>;

/**
 * Which locks to show.
 *
 * @generated from message rowlock.v1.ListLocksRequest
 */
export declare type ListLocksRequest = Message<"rowlock.v1.ListLocksRequest"> & {
  /**
   * Only names that begin with these bytes, at most 255; empty: all.
   *
   * @generated from field: string prefix = 1;
   */
  prefix: string;

  /**
   * The most locks to return, 1 to 1,000; 0 means 100. A page ends at about 1 MiB, so it may be shorter: only an empty
   * next_page_token means that it is the last. Each lock lists up to 10 holders and 10 first waiters.
   *
   * @generated from field: int32 page_size = 2;
   */
  pageSize: number;

  /**
   * The token of the page before, with the same prefix. Not with an order by waiters.
   *
   * @generated from field: string page_token = 3;
   */
  pageToken: string;

  /**
   * Only locks with a holder or a waiter.
   *
   * @generated from field: bool busy_only = 4;
   */
  busyOnly: boolean;

  /**
   * Unspecified means by name. The orders by waiters have one page only, because they change with every grant; ask for
   * a larger page to see more. Their cost grows with the number of waiters.
   *
   * @generated from field: rowlock.v1.ListOrder order = 5;
   */
  order: ListOrder;
};

/**
 * Which locks to show.
 *
 * @generated from message rowlock.v1.ListLocksRequest
 */
export declare type ListLocksRequestJson = {
  /**
   * Only names that begin with these bytes, at most 255; empty: all.
   *
   * @generated from field: string prefix = 1;
   */
  prefix?: string;

  /**
   * The most locks to return, 1 to 1,000; 0 means 100. A page ends at about 1 MiB, so it may be shorter: only an empty
   * next_page_token means that it is the last. Each lock lists up to 10 holders and 10 first waiters.
   *
   * @generated from field: int32 page_size = 2;
   */
  pageSize?: number;

  /**
   * The token of the page before, with the same prefix. Not with an order by waiters.
   *
   * @generated from field: string page_token = 3;
   */
  pageToken?: string;

  /**
   * Only locks with a holder or a waiter.
   *
   * @generated from field: bool busy_only = 4;
   */
  busyOnly?: boolean;

  /**
   * Unspecified means by name. The orders by waiters have one page only, because they change with every grant; ask for
   * a larger page to see more. Their cost grows with the number of waiters.
   *
   * @generated from field: rowlock.v1.ListOrder order = 5;
   */
  order?: ListOrderJson;
};

/**
 * Describes the message rowlock.v1.ListLocksRequest.
 * Use `create(ListLocksRequestSchema)` to create a new message.
 */
export declare const ListLocksRequestSchema: GenMessage<ListLocksRequest, {jsonType: ListLocksRequestJson}>;

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListLocksResponse
 */
export declare type ListLocksResponse = Message<"rowlock.v1.ListLocksResponse"> & {
  /**
   * In the requested order.
   *
   * @generated from field: repeated rowlock.v1.Lock locks = 1;
   */
  locks: Lock[];

  /**
   * The token of the next page; empty at the end, and always in an order by waiters.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken: string;
};

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListLocksResponse
 */
export declare type ListLocksResponseJson = {
  /**
   * In the requested order.
   *
   * @generated from field: repeated rowlock.v1.Lock locks = 1;
   */
  locks?: LockJson[];

  /**
   * The token of the next page; empty at the end, and always in an order by waiters.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken?: string;
};

/**
 * Describes the message rowlock.v1.ListLocksResponse.
 * Use `create(ListLocksResponseSchema)` to create a new message.
 */
export declare const ListLocksResponseSchema: GenMessage<ListLocksResponse, {jsonType: ListLocksResponseJson}>;

/**
 * Which locks to watch.
 *
 * @generated from message rowlock.v1.WatchLocksRequest
 */
export declare type WatchLocksRequest = Message<"rowlock.v1.WatchLocksRequest"> & {
  /**
   * Only names that begin with these bytes, at most 255; empty: all.
   *
   * @generated from field: string prefix = 1;
   */
  prefix: string;
};

/**
 * Which locks to watch.
 *
 * @generated from message rowlock.v1.WatchLocksRequest
 */
export declare type WatchLocksRequestJson = {
  /**
   * Only names that begin with these bytes, at most 255; empty: all.
   *
   * @generated from field: string prefix = 1;
   */
  prefix?: string;
};

/**
 * Describes the message rowlock.v1.WatchLocksRequest.
 * Use `create(WatchLocksRequestSchema)` to create a new message.
 */
export declare const WatchLocksRequestSchema: GenMessage<WatchLocksRequest, {jsonType: WatchLocksRequestJson}>;

/**
 * A part of a snapshot, or the changes since.
 *
 * @generated from message rowlock.v1.WatchLocksResponse
 */
export declare type WatchLocksResponse = Message<"rowlock.v1.WatchLocksResponse"> & {
  /**
   * This message begins a snapshot that replaces all that this stream sent before. Not set in the first message.
   *
   * @generated from field: bool began_anew = 1;
   */
  beganAnew: boolean;

  /**
   * Up to 100 locks in their present state. Each lists up to 10 holders and 10 first waiters.
   *
   * @generated from field: repeated rowlock.v1.Lock locks = 2;
   */
  locks: Lock[];

  /**
   * Names of locks that are gone: deleted, or unused for a while. A name may be one that the stream never sent. If the
   * lock comes back, the stream sends it again.
   *
   * @generated from field: repeated string deleted = 3;
   */
  deleted: string[];

  /**
   * This message completes the snapshot: a lock that is not in it did not exist when the snapshot began, or has gone
   * since. Set once for each snapshot.
   *
   * @generated from field: bool complete = 4;
   */
  complete: boolean;
};

/**
 * A part of a snapshot, or the changes since.
 *
 * @generated from message rowlock.v1.WatchLocksResponse
 */
export declare type WatchLocksResponseJson = {
  /**
   * This message begins a snapshot that replaces all that this stream sent before. Not set in the first message.
   *
   * @generated from field: bool began_anew = 1;
   */
  beganAnew?: boolean;

  /**
   * Up to 100 locks in their present state. Each lists up to 10 holders and 10 first waiters.
   *
   * @generated from field: repeated rowlock.v1.Lock locks = 2;
   */
  locks?: LockJson[];

  /**
   * Names of locks that are gone: deleted, or unused for a while. A name may be one that the stream never sent. If the
   * lock comes back, the stream sends it again.
   *
   * @generated from field: repeated string deleted = 3;
   */
  deleted?: string[];

  /**
   * This message completes the snapshot: a lock that is not in it did not exist when the snapshot began, or has gone
   * since. Set once for each snapshot.
   *
   * @generated from field: bool complete = 4;
   */
  complete?: boolean;
};

/**
 * Describes the message rowlock.v1.WatchLocksResponse.
 * Use `create(WatchLocksResponseSchema)` to create a new message.
 */
export declare const WatchLocksResponseSchema: GenMessage<WatchLocksResponse, {jsonType: WatchLocksResponseJson}>;

/**
 * Which limits to show.
 *
 * @generated from message rowlock.v1.ListLimitsRequest
 */
export declare type ListLimitsRequest = Message<"rowlock.v1.ListLimitsRequest"> & {
  /**
   * Only names and patterns whose text begins with these bytes, at most 255; empty: all. Shorter patterns that also
   * match names under the prefix, such as `*`, are not listed.
   *
   * @generated from field: string prefix = 1;
   */
  prefix: string;

  /**
   * The most settings to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
   *
   * @generated from field: int32 page_size = 2;
   */
  pageSize: number;

  /**
   * The token of the page before, with the same prefix.
   *
   * @generated from field: string page_token = 3;
   */
  pageToken: string;
};

/**
 * Which limits to show.
 *
 * @generated from message rowlock.v1.ListLimitsRequest
 */
export declare type ListLimitsRequestJson = {
  /**
   * Only names and patterns whose text begins with these bytes, at most 255; empty: all. Shorter patterns that also
   * match names under the prefix, such as `*`, are not listed.
   *
   * @generated from field: string prefix = 1;
   */
  prefix?: string;

  /**
   * The most settings to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
   *
   * @generated from field: int32 page_size = 2;
   */
  pageSize?: number;

  /**
   * The token of the page before, with the same prefix.
   *
   * @generated from field: string page_token = 3;
   */
  pageToken?: string;
};

/**
 * Describes the message rowlock.v1.ListLimitsRequest.
 * Use `create(ListLimitsRequestSchema)` to create a new message.
 */
export declare const ListLimitsRequestSchema: GenMessage<ListLimitsRequest, {jsonType: ListLimitsRequestJson}>;

/**
 * A limit that SetLimit has set.
 *
 * @generated from message rowlock.v1.LimitSetting
 */
export declare type LimitSetting = Message<"rowlock.v1.LimitSetting"> & {
  /**
   * What it applies to; one is set.
   *
   * @generated from oneof rowlock.v1.LimitSetting.target
   */
  target: {
    /**
     * For one lock.
     *
     * @generated from field: string name = 1;
     */
    value: string;
    case: "name";
  } | {
    /**
     * Every matching name.
     *
     * @generated from field: string pattern = 2;
     */
    value: string;
    case: "pattern";
  } | { case: undefined; value?: undefined };

  /**
   * Permits that may be held at once; 0 pauses.
   *
   * @generated from field: uint32 limit = 3;
   */
  limit: number;

  /**
   * The version of the setting, for the next expected_version.
   *
   * @generated from field: uint64 version = 4;
   */
  version: bigint;

  /**
   * The reason for the change.
   *
   * @generated from field: string reason = 5;
   */
  reason: string;
};

/**
 * A limit that SetLimit has set.
 *
 * @generated from message rowlock.v1.LimitSetting
 */
export declare type LimitSettingJson = {
  /**
   * For one lock.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * Every matching name.
   *
   * @generated from field: string pattern = 2;
   */
  pattern?: string;

  /**
   * Permits that may be held at once; 0 pauses.
   *
   * @generated from field: uint32 limit = 3;
   */
  limit?: number;

  /**
   * The version of the setting, for the next expected_version.
   *
   * @generated from field: uint64 version = 4;
   */
  version?: string;

  /**
   * The reason for the change.
   *
   * @generated from field: string reason = 5;
   */
  reason?: string;
};

/**
 * Describes the message rowlock.v1.LimitSetting.
 * Use `create(LimitSettingSchema)` to create a new message.
 */
export declare const LimitSettingSchema: GenMessage<LimitSetting, {jsonType: LimitSettingJson}>;

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListLimitsResponse
 */
export declare type ListLimitsResponse = Message<"rowlock.v1.ListLimitsResponse"> & {
  /**
   * Patterns, then names, each in byte order.
   *
   * @generated from field: repeated rowlock.v1.LimitSetting limits = 1;
   */
  limits: LimitSetting[];

  /**
   * The token of the next page; empty at the end.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken: string;
};

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListLimitsResponse
 */
export declare type ListLimitsResponseJson = {
  /**
   * Patterns, then names, each in byte order.
   *
   * @generated from field: repeated rowlock.v1.LimitSetting limits = 1;
   */
  limits?: LimitSettingJson[];

  /**
   * The token of the next page; empty at the end.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken?: string;
};

/**
 * Describes the message rowlock.v1.ListLimitsResponse.
 * Use `create(ListLimitsResponseSchema)` to create a new message.
 */
export declare const ListLimitsResponseSchema: GenMessage<ListLimitsResponse, {jsonType: ListLimitsResponseJson}>;

/**
 * Which claims to list. Empty fields do not restrict.
 *
 * @generated from message rowlock.v1.ListClaimsRequest
 */
export declare type ListClaimsRequest = Message<"rowlock.v1.ListClaimsRequest"> & {
  /**
   * Claims of this lock. Not with prefix.
   *
   * @generated from field: string lock_name = 1;
   */
  lockName: string;

  /**
   * Claims of locks whose names begin with these bytes, at most 255.
   *
   * @generated from field: string prefix = 2;
   */
  prefix: string;

  /**
   * Claims with this owner.
   *
   * @generated from field: string owner = 3;
   */
  owner: string;

  /**
   * Claims of this principal.
   *
   * @generated from field: string principal = 4;
   */
  principal: string;

  /**
   * Claims with all of these labels.
   *
   * @generated from field: map<string, string> labels = 5;
   */
  labels: { [key: string]: string };

  /**
   * Claims in one of these states. Empty: in any.
   *
   * @generated from field: repeated rowlock.v1.ClaimState states = 6;
   */
  states: ClaimState[];

  /**
   * Ended claims that ended in one of these ways. Live claims are then left out.
   *
   * @generated from field: repeated rowlock.v1.RefusalReason end_reasons = 7;
   */
  endReasons: RefusalReason[];

  /**
   * Ended claims that ended at this instant or later.
   *
   * @generated from field: google.protobuf.Timestamp from = 8;
   */
  from?: Timestamp | undefined;

  /**
   * Ended claims that ended before this instant. If it lies in the past, live claims are left out.
   *
   * @generated from field: google.protobuf.Timestamp until = 9;
   */
  until?: Timestamp | undefined;

  /**
   * Claims that held the lock at this instant. Only with lock_name, and not with from and until.
   *
   * @generated from field: google.protobuf.Timestamp held_at = 10;
   */
  heldAt?: Timestamp | undefined;

  /**
   * The most claims to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
   *
   * @generated from field: int32 page_size = 11;
   */
  pageSize: number;

  /**
   * The token of the page before, with otherwise the same request.
   *
   * @generated from field: string page_token = 12;
   */
  pageToken: string;
};

/**
 * Which claims to list. Empty fields do not restrict.
 *
 * @generated from message rowlock.v1.ListClaimsRequest
 */
export declare type ListClaimsRequestJson = {
  /**
   * Claims of this lock. Not with prefix.
   *
   * @generated from field: string lock_name = 1;
   */
  lockName?: string;

  /**
   * Claims of locks whose names begin with these bytes, at most 255.
   *
   * @generated from field: string prefix = 2;
   */
  prefix?: string;

  /**
   * Claims with this owner.
   *
   * @generated from field: string owner = 3;
   */
  owner?: string;

  /**
   * Claims of this principal.
   *
   * @generated from field: string principal = 4;
   */
  principal?: string;

  /**
   * Claims with all of these labels.
   *
   * @generated from field: map<string, string> labels = 5;
   */
  labels?: { [key: string]: string };

  /**
   * Claims in one of these states. Empty: in any.
   *
   * @generated from field: repeated rowlock.v1.ClaimState states = 6;
   */
  states?: ClaimStateJson[];

  /**
   * Ended claims that ended in one of these ways. Live claims are then left out.
   *
   * @generated from field: repeated rowlock.v1.RefusalReason end_reasons = 7;
   */
  endReasons?: RefusalReasonJson[];

  /**
   * Ended claims that ended at this instant or later.
   *
   * @generated from field: google.protobuf.Timestamp from = 8;
   */
  from?: TimestampJson;

  /**
   * Ended claims that ended before this instant. If it lies in the past, live claims are left out.
   *
   * @generated from field: google.protobuf.Timestamp until = 9;
   */
  until?: TimestampJson;

  /**
   * Claims that held the lock at this instant. Only with lock_name, and not with from and until.
   *
   * @generated from field: google.protobuf.Timestamp held_at = 10;
   */
  heldAt?: TimestampJson;

  /**
   * The most claims to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
   *
   * @generated from field: int32 page_size = 11;
   */
  pageSize?: number;

  /**
   * The token of the page before, with otherwise the same request.
   *
   * @generated from field: string page_token = 12;
   */
  pageToken?: string;
};

/**
 * Describes the message rowlock.v1.ListClaimsRequest.
 * Use `create(ListClaimsRequestSchema)` to create a new message.
 */
export declare const ListClaimsRequestSchema: GenMessage<ListClaimsRequest, {jsonType: ListClaimsRequestJson}>;

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListClaimsResponse
 */
export declare type ListClaimsResponse = Message<"rowlock.v1.ListClaimsResponse"> & {
  /**
   * Live ones first, then ended ones, newest first.
   *
   * @generated from field: repeated rowlock.v1.Claim claims = 1;
   */
  claims: Claim[];

  /**
   * The token of the next page; empty at the end.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken: string;

  /**
   * The page ended because the server had searched 10,000 ended claims for it, back to this instant: of one lock, when
   * they were requested; otherwise, when they ended.
   *
   * @generated from field: google.protobuf.Timestamp searched_back_to = 3;
   */
  searchedBackTo?: Timestamp | undefined;

  /**
   * Every claim that the request asks for and that ended at this instant or later is still kept. Earlier ones may have been
   * forgotten, so that none of them is no proof that there was none: the server keeps ended claims for as long as
   * ROWLOCK_HISTORY says, and at most ROWLOCK_HISTORY_ROWS_MAX of them.
   *
   * @generated from field: google.protobuf.Timestamp complete_from = 4;
   */
  completeFrom?: Timestamp | undefined;
};

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListClaimsResponse
 */
export declare type ListClaimsResponseJson = {
  /**
   * Live ones first, then ended ones, newest first.
   *
   * @generated from field: repeated rowlock.v1.Claim claims = 1;
   */
  claims?: ClaimJson[];

  /**
   * The token of the next page; empty at the end.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken?: string;

  /**
   * The page ended because the server had searched 10,000 ended claims for it, back to this instant: of one lock, when
   * they were requested; otherwise, when they ended.
   *
   * @generated from field: google.protobuf.Timestamp searched_back_to = 3;
   */
  searchedBackTo?: TimestampJson;

  /**
   * Every claim that the request asks for and that ended at this instant or later is still kept. Earlier ones may have been
   * forgotten, so that none of them is no proof that there was none: the server keeps ended claims for as long as
   * ROWLOCK_HISTORY says, and at most ROWLOCK_HISTORY_ROWS_MAX of them.
   *
   * @generated from field: google.protobuf.Timestamp complete_from = 4;
   */
  completeFrom?: TimestampJson;
};

/**
 * Describes the message rowlock.v1.ListClaimsResponse.
 * Use `create(ListClaimsResponseSchema)` to create a new message.
 */
export declare const ListClaimsResponseSchema: GenMessage<ListClaimsResponse, {jsonType: ListClaimsResponseJson}>;

/**
 * Which changes to list. Empty fields do not restrict.
 *
 * @generated from message rowlock.v1.ListChangesRequest
 */
export declare type ListChangesRequest = Message<"rowlock.v1.ListChangesRequest"> & {
  /**
   * Changes of this lock, and of the patterns that match its name. Not with prefix.
   *
   * @generated from field: string lock_name = 1;
   */
  lockName: string;

  /**
   * Changes of locks and patterns whose texts begin with these bytes, at most 255.
   *
   * @generated from field: string prefix = 2;
   */
  prefix: string;

  /**
   * Changes of these kinds. Empty: of any.
   *
   * @generated from field: repeated rowlock.v1.ChangeKind kinds = 3;
   */
  kinds: ChangeKind[];

  /**
   * Changes at this instant or later.
   *
   * @generated from field: google.protobuf.Timestamp from = 4;
   */
  from?: Timestamp | undefined;

  /**
   * Changes before this instant.
   *
   * @generated from field: google.protobuf.Timestamp until = 5;
   */
  until?: Timestamp | undefined;

  /**
   * Changes by this principal or address.
   *
   * @generated from field: string changed_by = 6;
   */
  changedBy: string;

  /**
   * The most changes to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
   *
   * @generated from field: int32 page_size = 7;
   */
  pageSize: number;

  /**
   * The token of the page before, with otherwise the same request.
   *
   * @generated from field: string page_token = 8;
   */
  pageToken: string;
};

/**
 * Which changes to list. Empty fields do not restrict.
 *
 * @generated from message rowlock.v1.ListChangesRequest
 */
export declare type ListChangesRequestJson = {
  /**
   * Changes of this lock, and of the patterns that match its name. Not with prefix.
   *
   * @generated from field: string lock_name = 1;
   */
  lockName?: string;

  /**
   * Changes of locks and patterns whose texts begin with these bytes, at most 255.
   *
   * @generated from field: string prefix = 2;
   */
  prefix?: string;

  /**
   * Changes of these kinds. Empty: of any.
   *
   * @generated from field: repeated rowlock.v1.ChangeKind kinds = 3;
   */
  kinds?: ChangeKindJson[];

  /**
   * Changes at this instant or later.
   *
   * @generated from field: google.protobuf.Timestamp from = 4;
   */
  from?: TimestampJson;

  /**
   * Changes before this instant.
   *
   * @generated from field: google.protobuf.Timestamp until = 5;
   */
  until?: TimestampJson;

  /**
   * Changes by this principal or address.
   *
   * @generated from field: string changed_by = 6;
   */
  changedBy?: string;

  /**
   * The most changes to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
   *
   * @generated from field: int32 page_size = 7;
   */
  pageSize?: number;

  /**
   * The token of the page before, with otherwise the same request.
   *
   * @generated from field: string page_token = 8;
   */
  pageToken?: string;
};

/**
 * Describes the message rowlock.v1.ListChangesRequest.
 * Use `create(ListChangesRequestSchema)` to create a new message.
 */
export declare const ListChangesRequestSchema: GenMessage<ListChangesRequest, {jsonType: ListChangesRequestJson}>;

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListChangesResponse
 */
export declare type ListChangesResponse = Message<"rowlock.v1.ListChangesResponse"> & {
  /**
   * Newest first.
   *
   * @generated from field: repeated rowlock.v1.Change changes = 1;
   */
  changes: Change[];

  /**
   * The token of the next page; empty at the end.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken: string;

  /**
   * The page ended because the server had searched 10,000 changes for it, back to this instant.
   *
   * @generated from field: google.protobuf.Timestamp searched_back_to = 3;
   */
  searchedBackTo?: Timestamp | undefined;

  /**
   * Every change from this instant on is still kept. Earlier ones may have been forgotten: the server keeps changes for
   * ROWLOCK_CHANGES_RETENTION, and at most about a million of them.
   *
   * @generated from field: google.protobuf.Timestamp complete_from = 4;
   */
  completeFrom?: Timestamp | undefined;
};

/**
 * One page.
 *
 * @generated from message rowlock.v1.ListChangesResponse
 */
export declare type ListChangesResponseJson = {
  /**
   * Newest first.
   *
   * @generated from field: repeated rowlock.v1.Change changes = 1;
   */
  changes?: ChangeJson[];

  /**
   * The token of the next page; empty at the end.
   *
   * @generated from field: string next_page_token = 2;
   */
  nextPageToken?: string;

  /**
   * The page ended because the server had searched 10,000 changes for it, back to this instant.
   *
   * @generated from field: google.protobuf.Timestamp searched_back_to = 3;
   */
  searchedBackTo?: TimestampJson;

  /**
   * Every change from this instant on is still kept. Earlier ones may have been forgotten: the server keeps changes for
   * ROWLOCK_CHANGES_RETENTION, and at most about a million of them.
   *
   * @generated from field: google.protobuf.Timestamp complete_from = 4;
   */
  completeFrom?: TimestampJson;
};

/**
 * Describes the message rowlock.v1.ListChangesResponse.
 * Use `create(ListChangesResponseSchema)` to create a new message.
 */
export declare const ListChangesResponseSchema: GenMessage<ListChangesResponse, {jsonType: ListChangesResponseJson}>;

/**
 * What to explain.
 *
 * @generated from message rowlock.v1.ExplainWaitRequest
 */
export declare type ExplainWaitRequest = Message<"rowlock.v1.ExplainWaitRequest"> & {
  /**
   * Exactly one must be set.
   *
   * @generated from oneof rowlock.v1.ExplainWaitRequest.target
   */
  target: {
    /**
     * A request for one permit of this lock that would come now.
     *
     * @generated from field: string name = 1;
     */
    value: string;
    case: "name";
  } | {
    /**
     * A waiter, by its secret id.
     *
     * @generated from field: string ticket_id = 2;
     */
    value: string;
    case: "ticketId";
  } | {
    /**
     * A waiter, by its public number.
     *
     * @generated from field: rowlock.v1.ClaimReference claim = 3;
     */
    value: ClaimReference;
    case: "claim";
  } | { case: undefined; value?: undefined };
};

/**
 * What to explain.
 *
 * @generated from message rowlock.v1.ExplainWaitRequest
 */
export declare type ExplainWaitRequestJson = {
  /**
   * A request for one permit of this lock that would come now.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * A waiter, by its secret id.
   *
   * @generated from field: string ticket_id = 2;
   */
  ticketId?: string;

  /**
   * A waiter, by its public number.
   *
   * @generated from field: rowlock.v1.ClaimReference claim = 3;
   */
  claim?: ClaimReferenceJson;
};

/**
 * Describes the message rowlock.v1.ExplainWaitRequest.
 * Use `create(ExplainWaitRequestSchema)` to create a new message.
 */
export declare const ExplainWaitRequestSchema: GenMessage<ExplainWaitRequest, {jsonType: ExplainWaitRequestJson}>;

/**
 * Why it waits.
 *
 * @generated from message rowlock.v1.ExplainWaitResponse
 */
export declare type ExplainWaitResponse = Message<"rowlock.v1.ExplainWaitResponse"> & {
  /**
   * The lock with its limit and counts. Holders, waiters and the record are left out: the causes have what matters.
   *
   * @generated from field: rowlock.v1.Lock lock = 1;
   */
  lock?: Lock | undefined;

  /**
   * The waiter; unset for a name.
   *
   * @generated from field: rowlock.v1.Claim claim = 2;
   */
  claim?: Claim | undefined;

  /**
   * Why it is not granted, the most important first. Empty: a request would be granted at once, or the waiter is about to
   * be.
   *
   * @generated from field: repeated rowlock.v1.WaitCause causes = 3;
   */
  causes: WaitCause[];

  /**
   * The same in one line for people. Not stable.
   *
   * @generated from field: string summary = 4;
   */
  summary: string;

  /**
   * How long it is likely to wait; unset if too little is known: fewer than 5 leases in the history of the lock, or a
   * cause that they say nothing about. Also unset for a caller who may not see the lock.
   *
   * @generated from field: rowlock.v1.WaitEstimate estimate = 5;
   */
  estimate?: WaitEstimate | undefined;
};

/**
 * Why it waits.
 *
 * @generated from message rowlock.v1.ExplainWaitResponse
 */
export declare type ExplainWaitResponseJson = {
  /**
   * The lock with its limit and counts. Holders, waiters and the record are left out: the causes have what matters.
   *
   * @generated from field: rowlock.v1.Lock lock = 1;
   */
  lock?: LockJson;

  /**
   * The waiter; unset for a name.
   *
   * @generated from field: rowlock.v1.Claim claim = 2;
   */
  claim?: ClaimJson;

  /**
   * Why it is not granted, the most important first. Empty: a request would be granted at once, or the waiter is about to
   * be.
   *
   * @generated from field: repeated rowlock.v1.WaitCause causes = 3;
   */
  causes?: WaitCauseJson[];

  /**
   * The same in one line for people. Not stable.
   *
   * @generated from field: string summary = 4;
   */
  summary?: string;

  /**
   * How long it is likely to wait; unset if too little is known: fewer than 5 leases in the history of the lock, or a
   * cause that they say nothing about. Also unset for a caller who may not see the lock.
   *
   * @generated from field: rowlock.v1.WaitEstimate estimate = 5;
   */
  estimate?: WaitEstimateJson;
};

/**
 * Describes the message rowlock.v1.ExplainWaitResponse.
 * Use `create(ExplainWaitResponseSchema)` to create a new message.
 */
export declare const ExplainWaitResponseSchema: GenMessage<ExplainWaitResponse, {jsonType: ExplainWaitResponseJson}>;

/**
 * A claim, by its public number.
 *
 * @generated from message rowlock.v1.ClaimReference
 */
export declare type ClaimReference = Message<"rowlock.v1.ClaimReference"> & {
  /**
   * The lock.
   *
   * @generated from field: string lock_name = 1;
   */
  lockName: string;

  /**
   * Its number at that lock.
   *
   * @generated from field: uint64 ticket_number = 2;
   */
  ticketNumber: bigint;
};

/**
 * A claim, by its public number.
 *
 * @generated from message rowlock.v1.ClaimReference
 */
export declare type ClaimReferenceJson = {
  /**
   * The lock.
   *
   * @generated from field: string lock_name = 1;
   */
  lockName?: string;

  /**
   * Its number at that lock.
   *
   * @generated from field: uint64 ticket_number = 2;
   */
  ticketNumber?: string;
};

/**
 * Describes the message rowlock.v1.ClaimReference.
 * Use `create(ClaimReferenceSchema)` to create a new message.
 */
export declare const ClaimReferenceSchema: GenMessage<ClaimReference, {jsonType: ClaimReferenceJson}>;

/**
 * What to end.
 *
 * @generated from message rowlock.v1.ForceReleaseRequest
 */
export declare type ForceReleaseRequest = Message<"rowlock.v1.ForceReleaseRequest"> & {
  /**
   * Exactly one must be set.
   *
   * @generated from oneof rowlock.v1.ForceReleaseRequest.target
   */
  target: {
    /**
     * All holders of this lock, oldest first, up to 500 a call, so that the answer fits into the 4 MiB that clients
     * accept. Repeat the call while `remaining` is above 0. Waiters stay, and are granted what becomes free.
     *
     * @generated from field: string name = 1;
     */
    value: string;
    case: "name";
  } | {
    /**
     * One holder or waiter.
     *
     * @generated from field: rowlock.v1.ClaimReference claim = 2;
     */
    value: ClaimReference;
    case: "claim";
  } | { case: undefined; value?: undefined };

  /**
   * The reason; required, 1 to 255 bytes. The server logs it and keeps it with the claim.
   *
   * @generated from field: string reason = 3;
   */
  reason: string;
};

/**
 * What to end.
 *
 * @generated from message rowlock.v1.ForceReleaseRequest
 */
export declare type ForceReleaseRequestJson = {
  /**
   * All holders of this lock, oldest first, up to 500 a call, so that the answer fits into the 4 MiB that clients
   * accept. Repeat the call while `remaining` is above 0. Waiters stay, and are granted what becomes free.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * One holder or waiter.
   *
   * @generated from field: rowlock.v1.ClaimReference claim = 2;
   */
  claim?: ClaimReferenceJson;

  /**
   * The reason; required, 1 to 255 bytes. The server logs it and keeps it with the claim.
   *
   * @generated from field: string reason = 3;
   */
  reason?: string;
};

/**
 * Describes the message rowlock.v1.ForceReleaseRequest.
 * Use `create(ForceReleaseRequestSchema)` to create a new message.
 */
export declare const ForceReleaseRequestSchema: GenMessage<ForceReleaseRequest, {jsonType: ForceReleaseRequestJson}>;

/**
 * What was ended.
 *
 * @generated from message rowlock.v1.ForceReleaseResponse
 */
export declare type ForceReleaseResponse = Message<"rowlock.v1.ForceReleaseResponse"> & {
  /**
   * The claims as they were before; empty if there was nothing to end. For a caller who may not see the lock they have no
   * owner, principal and labels.
   *
   * @generated from field: repeated rowlock.v1.Claim ended = 1;
   */
  ended: Claim[];

  /**
   * Holders of the lock that this call did not end because of its limit of 500; if above 0, repeat the call. It does
   * not count new holders, but a repeated call ends them too. 0 for one claim.
   *
   * @generated from field: uint32 remaining = 2;
   */
  remaining: number;
};

/**
 * What was ended.
 *
 * @generated from message rowlock.v1.ForceReleaseResponse
 */
export declare type ForceReleaseResponseJson = {
  /**
   * The claims as they were before; empty if there was nothing to end. For a caller who may not see the lock they have no
   * owner, principal and labels.
   *
   * @generated from field: repeated rowlock.v1.Claim ended = 1;
   */
  ended?: ClaimJson[];

  /**
   * Holders of the lock that this call did not end because of its limit of 500; if above 0, repeat the call. It does
   * not count new holders, but a repeated call ends them too. 0 for one claim.
   *
   * @generated from field: uint32 remaining = 2;
   */
  remaining?: number;
};

/**
 * Describes the message rowlock.v1.ForceReleaseResponse.
 * Use `create(ForceReleaseResponseSchema)` to create a new message.
 */
export declare const ForceReleaseResponseSchema: GenMessage<ForceReleaseResponse, {jsonType: ForceReleaseResponseJson}>;

/**
 * What to set: at least one of new_not_before, new_attempts_left and status. What is not set stays.
 *
 * @generated from message rowlock.v1.UpdateRecordRequest
 */
export declare type UpdateRecordRequest = Message<"rowlock.v1.UpdateRecordRequest"> & {
  /**
   * The lock, 1 to 255 bytes. The call creates it if necessary.
   *
   * @generated from field: string name = 1;
   */
  name: string;

  /**
   * When the lock may be granted.
   *
   * @generated from oneof rowlock.v1.UpdateRecordRequest.new_not_before
   */
  newNotBefore: {
    /**
     * Not before this instant of the database's clock, from 1970 to 10 years (of 365.25 days) ahead. An instant in the past
     * makes the lock due since then, so that Capture takes it earlier.
     *
     * @generated from field: google.protobuf.Timestamp not_before = 2;
     */
    value: Timestamp;
    case: "notBefore";
  } | {
    /**
     * The same as a time from now, 0 to 10 years, for callers whose clock may differ from the database's.
     *
     * @generated from field: google.protobuf.Duration not_before_in = 3;
     */
    value: Duration;
    case: "notBeforeIn";
  } | {
    /**
     * At any time.
     *
     * @generated from field: google.protobuf.Empty unset_not_before = 4;
     */
    value: Empty;
    case: "unsetNotBefore";
  } | { case: undefined; value?: undefined };

  /**
   * How many more grants are allowed.
   *
   * @generated from oneof rowlock.v1.UpdateRecordRequest.new_attempts_left
   */
  newAttemptsLeft: {
    /**
     * So many, 0 to 1,000,000.
     *
     * @generated from field: uint32 attempts_left = 5;
     */
    value: number;
    case: "attemptsLeft";
  } | {
    /**
     * Any number.
     *
     * @generated from field: google.protobuf.Empty unset_attempts_left = 6;
     */
    value: Empty;
    case: "unsetAttemptsLeft";
  } | { case: undefined; value?: undefined };

  /**
   * The status, up to 63 bytes.
   *
   * @generated from field: optional string status = 7;
   */
  status?: string | undefined;

  /**
   * Change only if the record has this version (0: only if the lock has no record); otherwise VERSION_MISMATCH.
   *
   * @generated from field: optional uint64 expected_version = 8;
   */
  expectedVersion?: bigint | undefined;

  /**
   * The reason, for people; up to 255 bytes. ListChanges shows it.
   *
   * @generated from field: string reason = 9;
   */
  reason: string;
};

/**
 * What to set: at least one of new_not_before, new_attempts_left and status. What is not set stays.
 *
 * @generated from message rowlock.v1.UpdateRecordRequest
 */
export declare type UpdateRecordRequestJson = {
  /**
   * The lock, 1 to 255 bytes. The call creates it if necessary.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * Not before this instant of the database's clock, from 1970 to 10 years (of 365.25 days) ahead. An instant in the past
   * makes the lock due since then, so that Capture takes it earlier.
   *
   * @generated from field: google.protobuf.Timestamp not_before = 2;
   */
  notBefore?: TimestampJson;

  /**
   * The same as a time from now, 0 to 10 years, for callers whose clock may differ from the database's.
   *
   * @generated from field: google.protobuf.Duration not_before_in = 3;
   */
  notBeforeIn?: DurationJson;

  /**
   * At any time.
   *
   * @generated from field: google.protobuf.Empty unset_not_before = 4;
   */
  unsetNotBefore?: EmptyJson;

  /**
   * So many, 0 to 1,000,000.
   *
   * @generated from field: uint32 attempts_left = 5;
   */
  attemptsLeft?: number;

  /**
   * Any number.
   *
   * @generated from field: google.protobuf.Empty unset_attempts_left = 6;
   */
  unsetAttemptsLeft?: EmptyJson;

  /**
   * The status, up to 63 bytes.
   *
   * @generated from field: optional string status = 7;
   */
  status?: string;

  /**
   * Change only if the record has this version (0: only if the lock has no record); otherwise VERSION_MISMATCH.
   *
   * @generated from field: optional uint64 expected_version = 8;
   */
  expectedVersion?: string;

  /**
   * The reason, for people; up to 255 bytes. ListChanges shows it.
   *
   * @generated from field: string reason = 9;
   */
  reason?: string;
};

/**
 * Describes the message rowlock.v1.UpdateRecordRequest.
 * Use `create(UpdateRecordRequestSchema)` to create a new message.
 */
export declare const UpdateRecordRequestSchema: GenMessage<UpdateRecordRequest, {jsonType: UpdateRecordRequestJson}>;

/**
 * What the lock remembers now.
 *
 * @generated from message rowlock.v1.UpdateRecordResponse
 */
export declare type UpdateRecordResponse = Message<"rowlock.v1.UpdateRecordResponse"> & {
  /**
   * With its new version, after the grants that the change allowed. For a caller who may not see the lock, its last run
   * has no owner.
   *
   * @generated from field: rowlock.v1.LockRecord record = 1;
   */
  record?: LockRecord | undefined;
};

/**
 * What the lock remembers now.
 *
 * @generated from message rowlock.v1.UpdateRecordResponse
 */
export declare type UpdateRecordResponseJson = {
  /**
   * With its new version, after the grants that the change allowed. For a caller who may not see the lock, its last run
   * has no owner.
   *
   * @generated from field: rowlock.v1.LockRecord record = 1;
   */
  record?: LockRecordJson;
};

/**
 * Describes the message rowlock.v1.UpdateRecordResponse.
 * Use `create(UpdateRecordResponseSchema)` to create a new message.
 */
export declare const UpdateRecordResponseSchema: GenMessage<UpdateRecordResponse, {jsonType: UpdateRecordResponseJson}>;

/**
 * Whose record to remove.
 *
 * @generated from message rowlock.v1.DeleteRecordRequest
 */
export declare type DeleteRecordRequest = Message<"rowlock.v1.DeleteRecordRequest"> & {
  /**
   * The lock, 1 to 255 bytes.
   *
   * @generated from field: string name = 1;
   */
  name: string;

  /**
   * Remove it only if the record has this version (0: only if the lock has none, which changes nothing); otherwise
   * VERSION_MISMATCH.
   *
   * @generated from field: optional uint64 expected_version = 2;
   */
  expectedVersion?: bigint | undefined;

  /**
   * The reason, for people; up to 255 bytes. ListChanges shows it.
   *
   * @generated from field: string reason = 3;
   */
  reason: string;
};

/**
 * Whose record to remove.
 *
 * @generated from message rowlock.v1.DeleteRecordRequest
 */
export declare type DeleteRecordRequestJson = {
  /**
   * The lock, 1 to 255 bytes.
   *
   * @generated from field: string name = 1;
   */
  name?: string;

  /**
   * Remove it only if the record has this version (0: only if the lock has none, which changes nothing); otherwise
   * VERSION_MISMATCH.
   *
   * @generated from field: optional uint64 expected_version = 2;
   */
  expectedVersion?: string;

  /**
   * The reason, for people; up to 255 bytes. ListChanges shows it.
   *
   * @generated from field: string reason = 3;
   */
  reason?: string;
};

/**
 * Describes the message rowlock.v1.DeleteRecordRequest.
 * Use `create(DeleteRecordRequestSchema)` to create a new message.
 */
export declare const DeleteRecordRequestSchema: GenMessage<DeleteRecordRequest, {jsonType: DeleteRecordRequestJson}>;

/**
 * Whether there was one.
 *
 * @generated from message rowlock.v1.DeleteRecordResponse
 */
export declare type DeleteRecordResponse = Message<"rowlock.v1.DeleteRecordResponse"> & {
  /**
   * True if this call removed a record; false if there was none, or no such lock.
   *
   * @generated from field: bool deleted = 1;
   */
  deleted: boolean;
};

/**
 * Whether there was one.
 *
 * @generated from message rowlock.v1.DeleteRecordResponse
 */
export declare type DeleteRecordResponseJson = {
  /**
   * True if this call removed a record; false if there was none, or no such lock.
   *
   * @generated from field: bool deleted = 1;
   */
  deleted?: boolean;
};

/**
 * Describes the message rowlock.v1.DeleteRecordResponse.
 * Use `create(DeleteRecordResponseSchema)` to create a new message.
 */
export declare const DeleteRecordResponseSchema: GenMessage<DeleteRecordResponse, {jsonType: DeleteRecordResponseJson}>;

/**
 * Which locks to take, and how many. The server gives leases on up to max_leases locks that are free and due (their
 * not_before has passed), have attempts left and have a wanted status: longest due first, then by the bytes of their
 * names. Each is an ordinary lease on one permit, with its own fencing token, and ends on its own. Two callers never
 * get the same lock. Capture never passes a waiter.
 *
 * The order holds among up to 500 folders and statuses. If there are more, the server looks at some hundreds together,
 * then at the next ones. A call stops after thousands of locks that it cannot have (other names of a folder, paused
 * locks, locks that another transaction holds). Later calls for the same locks continue from there, once around, so
 * that nothing stays hidden behind others.
 *
 * @generated from message rowlock.v1.CaptureRequest
 */
export declare type CaptureRequest = Message<"rowlock.v1.CaptureRequest"> & {
  /**
   * Exactly one must be set.
   *
   * @generated from oneof rowlock.v1.CaptureRequest.from
   */
  from: {
    /**
     * Locks with a record whose names begin with these bytes, at most 255; empty: all.
     *
     * @generated from field: string prefix = 1;
     */
    value: string;
    case: "prefix";
  } | {
    /**
     * These locks, including names that nobody has used before.
     *
     * @generated from field: rowlock.v1.LockNames names = 2;
     */
    value: LockNames;
    case: "names";
  } | { case: undefined; value?: undefined };

  /**
   * The most leases to take, 1 to 100; required.
   *
   * @generated from field: uint32 max_leases = 3;
   */
  maxLeases: number;

  /**
   * The wanted statuses: see AcquireRequest.if_status. Empty: any status.
   *
   * @generated from field: repeated string if_status = 4;
   */
  ifStatus: string[];

  /**
   * Time to live of each lease, 1 s to 24 days; 30 s if unset.
   *
   * @generated from field: google.protobuf.Duration ttl = 5;
   */
  ttl?: Duration | undefined;

  /**
   * The caller's own id for this request, up to 120 bytes. The same id always returns the same leases while they are
   * held, and none after they have ended: see CaptureResponse.is_repeated. Must not begin with NUL. If empty, the call
   * is not safe to repeat.
   *
   * @generated from field: string request_id = 6;
   */
  requestId: string;

  /**
   * Who asks, for people who look at the locks; up to 255 bytes.
   *
   * @generated from field: string owner = 7;
   */
  owner: string;

  /**
   * What else they should see; bounds as for AcquireRequest.labels.
   *
   * @generated from field: map<string, string> labels = 8;
   */
  labels: { [key: string]: string };

  /**
   * If there is no lock to take: how long to wait for one, 1 ms to 24 days. Unset: not at all. The wait has no place in
   * a queue, so a later call may be served first. Leases after a wait are provisional: see Lease.
   *
   * @generated from field: google.protobuf.Duration max_wait = 9;
   */
  maxWait?: Duration | undefined;

  /**
   * See AcquireRequest, for each lease.
   *
   * @generated from field: google.protobuf.Duration min_interval = 10;
   */
  minInterval?: Duration | undefined;

  /**
   * See AcquireRequest, for each lease.
   *
   * @generated from field: google.protobuf.Duration lock_delay = 11;
   */
  lockDelay?: Duration | undefined;

  /**
   * See AcquireRequest, for each lease.
   *
   * @generated from field: optional string status_if_lost = 12;
   */
  statusIfLost?: string | undefined;
};

/**
 * Which locks to take, and how many. The server gives leases on up to max_leases locks that are free and due (their
 * not_before has passed), have attempts left and have a wanted status: longest due first, then by the bytes of their
 * names. Each is an ordinary lease on one permit, with its own fencing token, and ends on its own. Two callers never
 * get the same lock. Capture never passes a waiter.
 *
 * The order holds among up to 500 folders and statuses. If there are more, the server looks at some hundreds together,
 * then at the next ones. A call stops after thousands of locks that it cannot have (other names of a folder, paused
 * locks, locks that another transaction holds). Later calls for the same locks continue from there, once around, so
 * that nothing stays hidden behind others.
 *
 * @generated from message rowlock.v1.CaptureRequest
 */
export declare type CaptureRequestJson = {
  /**
   * Locks with a record whose names begin with these bytes, at most 255; empty: all.
   *
   * @generated from field: string prefix = 1;
   */
  prefix?: string;

  /**
   * These locks, including names that nobody has used before.
   *
   * @generated from field: rowlock.v1.LockNames names = 2;
   */
  names?: LockNamesJson;

  /**
   * The most leases to take, 1 to 100; required.
   *
   * @generated from field: uint32 max_leases = 3;
   */
  maxLeases?: number;

  /**
   * The wanted statuses: see AcquireRequest.if_status. Empty: any status.
   *
   * @generated from field: repeated string if_status = 4;
   */
  ifStatus?: string[];

  /**
   * Time to live of each lease, 1 s to 24 days; 30 s if unset.
   *
   * @generated from field: google.protobuf.Duration ttl = 5;
   */
  ttl?: DurationJson;

  /**
   * The caller's own id for this request, up to 120 bytes. The same id always returns the same leases while they are
   * held, and none after they have ended: see CaptureResponse.is_repeated. Must not begin with NUL. If empty, the call
   * is not safe to repeat.
   *
   * @generated from field: string request_id = 6;
   */
  requestId?: string;

  /**
   * Who asks, for people who look at the locks; up to 255 bytes.
   *
   * @generated from field: string owner = 7;
   */
  owner?: string;

  /**
   * What else they should see; bounds as for AcquireRequest.labels.
   *
   * @generated from field: map<string, string> labels = 8;
   */
  labels?: { [key: string]: string };

  /**
   * If there is no lock to take: how long to wait for one, 1 ms to 24 days. Unset: not at all. The wait has no place in
   * a queue, so a later call may be served first. Leases after a wait are provisional: see Lease.
   *
   * @generated from field: google.protobuf.Duration max_wait = 9;
   */
  maxWait?: DurationJson;

  /**
   * See AcquireRequest, for each lease.
   *
   * @generated from field: google.protobuf.Duration min_interval = 10;
   */
  minInterval?: DurationJson;

  /**
   * See AcquireRequest, for each lease.
   *
   * @generated from field: google.protobuf.Duration lock_delay = 11;
   */
  lockDelay?: DurationJson;

  /**
   * See AcquireRequest, for each lease.
   *
   * @generated from field: optional string status_if_lost = 12;
   */
  statusIfLost?: string;
};

/**
 * Describes the message rowlock.v1.CaptureRequest.
 * Use `create(CaptureRequestSchema)` to create a new message.
 */
export declare const CaptureRequestSchema: GenMessage<CaptureRequest, {jsonType: CaptureRequestJson}>;

/**
 * Names of locks.
 *
 * @generated from message rowlock.v1.LockNames
 */
export declare type LockNames = Message<"rowlock.v1.LockNames"> & {
  /**
   * 1 to 1,000 different names of 1 to 255 bytes.
   *
   * @generated from field: repeated string names = 1;
   */
  names: string[];
};

/**
 * Names of locks.
 *
 * @generated from message rowlock.v1.LockNames
 */
export declare type LockNamesJson = {
  /**
   * 1 to 1,000 different names of 1 to 255 bytes.
   *
   * @generated from field: repeated string names = 1;
   */
  names?: string[];
};

/**
 * Describes the message rowlock.v1.LockNames.
 * Use `create(LockNamesSchema)` to create a new message.
 */
export declare const LockNamesSchema: GenMessage<LockNames, {jsonType: LockNamesJson}>;

/**
 * The leases that the call took.
 *
 * @generated from message rowlock.v1.CaptureResponse
 */
export declare type CaptureResponse = Message<"rowlock.v1.CaptureResponse"> & {
  /**
   * Longest due first; empty if there was nothing to take, which is an answer and not an error.
   *
   * @generated from field: repeated rowlock.v1.Lease leases = 1;
   */
  leases: Lease[];

  /**
   * If leases is empty: when to try again, if the server knows. 0: this call did not look at all locks, and the next
   * call continues from there.
   *
   * @generated from field: google.protobuf.Duration retry_after = 2;
   */
  retryAfter?: Duration | undefined;

  /**
   * An earlier call with this request_id took leases; `leases` has those that are still held. The id never gets others,
   * so such an answer comes at once, whatever max_wait is. To take more, use another request_id.
   *
   * @generated from field: bool is_repeated = 3;
   */
  isRepeated: boolean;
};

/**
 * The leases that the call took.
 *
 * @generated from message rowlock.v1.CaptureResponse
 */
export declare type CaptureResponseJson = {
  /**
   * Longest due first; empty if there was nothing to take, which is an answer and not an error.
   *
   * @generated from field: repeated rowlock.v1.Lease leases = 1;
   */
  leases?: LeaseJson[];

  /**
   * If leases is empty: when to try again, if the server knows. 0: this call did not look at all locks, and the next
   * call continues from there.
   *
   * @generated from field: google.protobuf.Duration retry_after = 2;
   */
  retryAfter?: DurationJson;

  /**
   * An earlier call with this request_id took leases; `leases` has those that are still held. The id never gets others,
   * so such an answer comes at once, whatever max_wait is. To take more, use another request_id.
   *
   * @generated from field: bool is_repeated = 3;
   */
  isRepeated?: boolean;
};

/**
 * Describes the message rowlock.v1.CaptureResponse.
 * Use `create(CaptureResponseSchema)` to create a new message.
 */
export declare const CaptureResponseSchema: GenMessage<CaptureResponse, {jsonType: CaptureResponseJson}>;

/**
 * A message from the client in a session.
 *
 * @generated from message rowlock.v1.SessionRequest
 */
export declare type SessionRequest = Message<"rowlock.v1.SessionRequest"> & {
  /**
   * In the first request only.
   *
   * @generated from field: rowlock.v1.SessionOpen open = 1;
   */
  open?: SessionOpen | undefined;

  /**
   * Commands, as many as fit.
   *
   * @generated from field: repeated rowlock.v1.SessionCommand commands = 2;
   */
  commands: SessionCommand[];

  /**
   * The number of responses that the client has received; it never falls. A client that has received a provisional
   * lease acknowledges it within a second, by an empty request if it has nothing else to send. The server answers each
   * request, an empty request with an empty response, so that the client knows that the server is there.
   *
   * @generated from field: uint64 received = 3;
   */
  received: bigint;
};

/**
 * A message from the client in a session.
 *
 * @generated from message rowlock.v1.SessionRequest
 */
export declare type SessionRequestJson = {
  /**
   * In the first request only.
   *
   * @generated from field: rowlock.v1.SessionOpen open = 1;
   */
  open?: SessionOpenJson;

  /**
   * Commands, as many as fit.
   *
   * @generated from field: repeated rowlock.v1.SessionCommand commands = 2;
   */
  commands?: SessionCommandJson[];

  /**
   * The number of responses that the client has received; it never falls. A client that has received a provisional
   * lease acknowledges it within a second, by an empty request if it has nothing else to send. The server answers each
   * request, an empty request with an empty response, so that the client knows that the server is there.
   *
   * @generated from field: uint64 received = 3;
   */
  received?: string;
};

/**
 * Describes the message rowlock.v1.SessionRequest.
 * Use `create(SessionRequestSchema)` to create a new message.
 */
export declare const SessionRequestSchema: GenMessage<SessionRequest, {jsonType: SessionRequestJson}>;

/**
 * Who opens the session.
 *
 * @generated from message rowlock.v1.SessionOpen
 */
export declare type SessionOpen = Message<"rowlock.v1.SessionOpen"> & {
  /**
   * The owner of claims whose Acquire or Capture names none; up to 255 bytes.
   *
   * @generated from field: string owner = 1;
   */
  owner: string;

  /**
   * Labels for all claims of this session. The labels of an Acquire or Capture are added; if both have a key, the
   * value of the Acquire or Capture applies. The bounds of AcquireRequest.labels apply to both together.
   *
   * @generated from field: map<string, string> labels = 2;
   */
  labels: { [key: string]: string };
};

/**
 * Who opens the session.
 *
 * @generated from message rowlock.v1.SessionOpen
 */
export declare type SessionOpenJson = {
  /**
   * The owner of claims whose Acquire or Capture names none; up to 255 bytes.
   *
   * @generated from field: string owner = 1;
   */
  owner?: string;

  /**
   * Labels for all claims of this session. The labels of an Acquire or Capture are added; if both have a key, the
   * value of the Acquire or Capture applies. The bounds of AcquireRequest.labels apply to both together.
   *
   * @generated from field: map<string, string> labels = 2;
   */
  labels?: { [key: string]: string };
};

/**
 * Describes the message rowlock.v1.SessionOpen.
 * Use `create(SessionOpenSchema)` to create a new message.
 */
export declare const SessionOpenSchema: GenMessage<SessionOpen, {jsonType: SessionOpenJson}>;

/**
 * One command.
 *
 * @generated from message rowlock.v1.SessionCommand
 */
export declare type SessionCommand = Message<"rowlock.v1.SessionCommand"> & {
  /**
   * The call's number: not 0 and not the number of an open call; otherwise the command is `rejected`.
   *
   * @generated from field: uint64 call = 1;
   */
  call: bigint;

  /**
   * How long to try, 1 ms to 24 days; unset: without end. Then the call ends with DEADLINE_EXCEEDED TIMEOUT. It bounds
   * the call, not the place: see AcquireRequest.max_wait.
   *
   * @generated from field: google.protobuf.Duration timeout = 2;
   */
  timeout?: Duration | undefined;

  /**
   * The caller's W3C trace context, as the `traceparent` that other calls send as metadata; empty: none. It changes nothing
   * but traces, and a malformed one is ignored.
   *
   * @generated from field: string traceparent = 21;
   */
  traceparent: string;

  /**
   * Exactly one must be set.
   *
   * @generated from oneof rowlock.v1.SessionCommand.command
   */
  command: {
    /**
     * Like the unary method. WHEN_BUSY_WAIT waits in the session.
     *
     * @generated from field: rowlock.v1.AcquireRequest acquire = 3;
     */
    value: AcquireRequest;
    case: "acquire";
  } | {
    /**
     * Like the streaming method.
     *
     * @generated from field: rowlock.v1.WaitInQueueRequest wait_in_queue = 4;
     */
    value: WaitInQueueRequest;
    case: "waitInQueue";
  } | {
    /**
     * One lease.
     *
     * @generated from field: rowlock.v1.RenewRequest renew = 5;
     */
    value: RenewRequest;
    case: "renew";
  } | {
    /**
     * Many leases.
     *
     * @generated from field: rowlock.v1.RenewLeases renew_leases = 6;
     */
    value: RenewLeases;
    case: "renewLeases";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ReleaseRequest release = 7;
     */
    value: ReleaseRequest;
    case: "release";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.SetLimitRequest set_limit = 8;
     */
    value: SetLimitRequest;
    case: "setLimit";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.GetLockRequest get_lock = 9;
     */
    value: GetLockRequest;
    case: "getLock";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ListLocksRequest list_locks = 10;
     */
    value: ListLocksRequest;
    case: "listLocks";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ListLimitsRequest list_limits = 11;
     */
    value: ListLimitsRequest;
    case: "listLimits";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ForceReleaseRequest force_release = 12;
     */
    value: ForceReleaseRequest;
    case: "forceRelease";
  } | {
    /**
     * Like the streaming method. It counts as a wait, and lasts until the client cancels it.
     *
     * @generated from field: rowlock.v1.WatchLocksRequest watch_locks = 17;
     */
    value: WatchLocksRequest;
    case: "watchLocks";
  } | {
    /**
     * Ends the open call with this number with CANCELLED; does nothing if there is none. A cancel has the call number 0
     * and no result. A place is kept for the grace period; Release gives it up.
     *
     * @generated from field: uint64 cancel = 13;
     */
    value: bigint;
    case: "cancel";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.UpdateRecordRequest update_record = 14;
     */
    value: UpdateRecordRequest;
    case: "updateRecord";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.DeleteRecordRequest delete_record = 15;
     */
    value: DeleteRecordRequest;
    case: "deleteRecord";
  } | {
    /**
     * Like the unary method. With max_wait it counts as a wait.
     *
     * @generated from field: rowlock.v1.CaptureRequest capture = 16;
     */
    value: CaptureRequest;
    case: "capture";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ListClaimsRequest list_claims = 18;
     */
    value: ListClaimsRequest;
    case: "listClaims";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ListChangesRequest list_changes = 19;
     */
    value: ListChangesRequest;
    case: "listChanges";
  } | {
    /**
     * Like the unary method.
     *
     * @generated from field: rowlock.v1.ExplainWaitRequest explain_wait = 20;
     */
    value: ExplainWaitRequest;
    case: "explainWait";
  } | { case: undefined; value?: undefined };
};

/**
 * One command.
 *
 * @generated from message rowlock.v1.SessionCommand
 */
export declare type SessionCommandJson = {
  /**
   * The call's number: not 0 and not the number of an open call; otherwise the command is `rejected`.
   *
   * @generated from field: uint64 call = 1;
   */
  call?: string;

  /**
   * How long to try, 1 ms to 24 days; unset: without end. Then the call ends with DEADLINE_EXCEEDED TIMEOUT. It bounds
   * the call, not the place: see AcquireRequest.max_wait.
   *
   * @generated from field: google.protobuf.Duration timeout = 2;
   */
  timeout?: DurationJson;

  /**
   * The caller's W3C trace context, as the `traceparent` that other calls send as metadata; empty: none. It changes nothing
   * but traces, and a malformed one is ignored.
   *
   * @generated from field: string traceparent = 21;
   */
  traceparent?: string;

  /**
   * Like the unary method. WHEN_BUSY_WAIT waits in the session.
   *
   * @generated from field: rowlock.v1.AcquireRequest acquire = 3;
   */
  acquire?: AcquireRequestJson;

  /**
   * Like the streaming method.
   *
   * @generated from field: rowlock.v1.WaitInQueueRequest wait_in_queue = 4;
   */
  waitInQueue?: WaitInQueueRequestJson;

  /**
   * One lease.
   *
   * @generated from field: rowlock.v1.RenewRequest renew = 5;
   */
  renew?: RenewRequestJson;

  /**
   * Many leases.
   *
   * @generated from field: rowlock.v1.RenewLeases renew_leases = 6;
   */
  renewLeases?: RenewLeasesJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ReleaseRequest release = 7;
   */
  release?: ReleaseRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.SetLimitRequest set_limit = 8;
   */
  setLimit?: SetLimitRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.GetLockRequest get_lock = 9;
   */
  getLock?: GetLockRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ListLocksRequest list_locks = 10;
   */
  listLocks?: ListLocksRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ListLimitsRequest list_limits = 11;
   */
  listLimits?: ListLimitsRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ForceReleaseRequest force_release = 12;
   */
  forceRelease?: ForceReleaseRequestJson;

  /**
   * Like the streaming method. It counts as a wait, and lasts until the client cancels it.
   *
   * @generated from field: rowlock.v1.WatchLocksRequest watch_locks = 17;
   */
  watchLocks?: WatchLocksRequestJson;

  /**
   * Ends the open call with this number with CANCELLED; does nothing if there is none. A cancel has the call number 0
   * and no result. A place is kept for the grace period; Release gives it up.
   *
   * @generated from field: uint64 cancel = 13;
   */
  cancel?: string;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.UpdateRecordRequest update_record = 14;
   */
  updateRecord?: UpdateRecordRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.DeleteRecordRequest delete_record = 15;
   */
  deleteRecord?: DeleteRecordRequestJson;

  /**
   * Like the unary method. With max_wait it counts as a wait.
   *
   * @generated from field: rowlock.v1.CaptureRequest capture = 16;
   */
  capture?: CaptureRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ListClaimsRequest list_claims = 18;
   */
  listClaims?: ListClaimsRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ListChangesRequest list_changes = 19;
   */
  listChanges?: ListChangesRequestJson;

  /**
   * Like the unary method.
   *
   * @generated from field: rowlock.v1.ExplainWaitRequest explain_wait = 20;
   */
  explainWait?: ExplainWaitRequestJson;
};

/**
 * Describes the message rowlock.v1.SessionCommand.
 * Use `create(SessionCommandSchema)` to create a new message.
 */
export declare const SessionCommandSchema: GenMessage<SessionCommand, {jsonType: SessionCommandJson}>;

/**
 * Which leases to renew together.
 *
 * @generated from message rowlock.v1.RenewLeases
 */
export declare type RenewLeases = Message<"rowlock.v1.RenewLeases"> & {
  /**
   * 1 to 1,000.
   *
   * @generated from field: repeated rowlock.v1.RenewRequest leases = 1;
   */
  leases: RenewRequest[];
};

/**
 * Which leases to renew together.
 *
 * @generated from message rowlock.v1.RenewLeases
 */
export declare type RenewLeasesJson = {
  /**
   * 1 to 1,000.
   *
   * @generated from field: repeated rowlock.v1.RenewRequest leases = 1;
   */
  leases?: RenewRequestJson[];
};

/**
 * Describes the message rowlock.v1.RenewLeases.
 * Use `create(RenewLeasesSchema)` to create a new message.
 */
export declare const RenewLeasesSchema: GenMessage<RenewLeases, {jsonType: RenewLeasesJson}>;

/**
 * The outcome for each, in the order of the request. A lock whose rows another transaction holds does not delay the others:
 * its outcome is DATABASE_UNAVAILABLE half a second after the first lease was renewed. Its lease may be renewed all the same;
 * ask again.
 *
 * @generated from message rowlock.v1.RenewedLeases
 */
export declare type RenewedLeases = Message<"rowlock.v1.RenewedLeases"> & {
  /**
   * One for each.
   *
   * @generated from field: repeated rowlock.v1.RenewedLease leases = 1;
   */
  leases: RenewedLease[];
};

/**
 * The outcome for each, in the order of the request. A lock whose rows another transaction holds does not delay the others:
 * its outcome is DATABASE_UNAVAILABLE half a second after the first lease was renewed. Its lease may be renewed all the same;
 * ask again.
 *
 * @generated from message rowlock.v1.RenewedLeases
 */
export declare type RenewedLeasesJson = {
  /**
   * One for each.
   *
   * @generated from field: repeated rowlock.v1.RenewedLease leases = 1;
   */
  leases?: RenewedLeaseJson[];
};

/**
 * Describes the message rowlock.v1.RenewedLeases.
 * Use `create(RenewedLeasesSchema)` to create a new message.
 */
export declare const RenewedLeasesSchema: GenMessage<RenewedLeases, {jsonType: RenewedLeasesJson}>;

/**
 * The outcome for one.
 *
 * @generated from message rowlock.v1.RenewedLease
 */
export declare type RenewedLease = Message<"rowlock.v1.RenewedLease"> & {
  /**
   * Exactly one is set.
   *
   * @generated from oneof rowlock.v1.RenewedLease.outcome
   */
  outcome: {
    /**
     * With its new remaining time.
     *
     * @generated from field: rowlock.v1.Lease lease = 1;
     */
    value: Lease;
    case: "lease";
  } | {
    /**
     * Why not: LEASE_LOST, NOT_GRANTED_YET, UNKNOWN_CLAIM, DATABASE_UNAVAILABLE, ...
     *
     * @generated from field: google.rpc.Status error = 2;
     */
    value: Status;
    case: "error";
  } | { case: undefined; value?: undefined };
};

/**
 * The outcome for one.
 *
 * @generated from message rowlock.v1.RenewedLease
 */
export declare type RenewedLeaseJson = {
  /**
   * With its new remaining time.
   *
   * @generated from field: rowlock.v1.Lease lease = 1;
   */
  lease?: LeaseJson;

  /**
   * Why not: LEASE_LOST, NOT_GRANTED_YET, UNKNOWN_CLAIM, DATABASE_UNAVAILABLE, ...
   *
   * @generated from field: google.rpc.Status error = 2;
   */
  error?: StatusJson;
};

/**
 * Describes the message rowlock.v1.RenewedLease.
 * Use `create(RenewedLeaseSchema)` to create a new message.
 */
export declare const RenewedLeaseSchema: GenMessage<RenewedLease, {jsonType: RenewedLeaseJson}>;

/**
 * A message from the server in a session.
 *
 * @generated from message rowlock.v1.SessionResponse
 */
export declare type SessionResponse = Message<"rowlock.v1.SessionResponse"> & {
  /**
   * In the first response.
   *
   * @generated from field: rowlock.v1.SessionOpened opened = 1;
   */
  opened?: SessionOpened | undefined;

  /**
   * Results of commands.
   *
   * @generated from field: repeated rowlock.v1.SessionResult results = 2;
   */
  results: SessionResult[];

  /**
   * The number of requests that the server had received when it began this response. The ttl of its leases counts from
   * then or later.
   *
   * @generated from field: uint64 heard = 3;
   */
  heard: bigint;

  /**
   * Leases of this session that have ended without a Release in it. Sent as soon as this server knows: at once if it
   * ended them itself; if another server did, with the next Renew at the latest.
   *
   * @generated from field: repeated rowlock.v1.LostLease lost = 4;
   */
  lost: LostLease[];

  /**
   * Leases that the client has acknowledged and that are no longer provisional, except those that it has renewed
   * itself.
   *
   * @generated from field: repeated rowlock.v1.Lease confirmed = 5;
   */
  confirmed: Lease[];

  /**
   * The server stops, or it has lost its database and another server has not: open a session at another server. Never
   * withdrawn.
   *
   * @generated from field: bool going_away = 6;
   */
  goingAway: boolean;
};

/**
 * A message from the server in a session.
 *
 * @generated from message rowlock.v1.SessionResponse
 */
export declare type SessionResponseJson = {
  /**
   * In the first response.
   *
   * @generated from field: rowlock.v1.SessionOpened opened = 1;
   */
  opened?: SessionOpenedJson;

  /**
   * Results of commands.
   *
   * @generated from field: repeated rowlock.v1.SessionResult results = 2;
   */
  results?: SessionResultJson[];

  /**
   * The number of requests that the server had received when it began this response. The ttl of its leases counts from
   * then or later.
   *
   * @generated from field: uint64 heard = 3;
   */
  heard?: string;

  /**
   * Leases of this session that have ended without a Release in it. Sent as soon as this server knows: at once if it
   * ended them itself; if another server did, with the next Renew at the latest.
   *
   * @generated from field: repeated rowlock.v1.LostLease lost = 4;
   */
  lost?: LostLeaseJson[];

  /**
   * Leases that the client has acknowledged and that are no longer provisional, except those that it has renewed
   * itself.
   *
   * @generated from field: repeated rowlock.v1.Lease confirmed = 5;
   */
  confirmed?: LeaseJson[];

  /**
   * The server stops, or it has lost its database and another server has not: open a session at another server. Never
   * withdrawn.
   *
   * @generated from field: bool going_away = 6;
   */
  goingAway?: boolean;
};

/**
 * Describes the message rowlock.v1.SessionResponse.
 * Use `create(SessionResponseSchema)` to create a new message.
 */
export declare const SessionResponseSchema: GenMessage<SessionResponse, {jsonType: SessionResponseJson}>;

/**
 * The terms of this session.
 *
 * @generated from message rowlock.v1.SessionOpened
 */
export declare type SessionOpened = Message<"rowlock.v1.SessionOpened"> & {
  /**
   * The server, as its log and metrics name it.
   *
   * @generated from field: string replica = 1;
   */
  replica: string;

  /**
   * The client sends something at least this often.
   *
   * @generated from field: google.protobuf.Duration heartbeat_interval = 2;
   */
  heartbeatInterval?: Duration | undefined;

  /**
   * The server ends a session whose client is silent for longer.
   *
   * @generated from field: google.protobuf.Duration silence_max = 3;
   */
  silenceMax?: Duration | undefined;

  /**
   * How long the server keeps a place after the session is gone.
   *
   * @generated from field: google.protobuf.Duration grace_period = 4;
   */
  gracePeriod?: Duration | undefined;

  /**
   * Waits that may be open at once.
   *
   * @generated from field: uint32 waits_max = 5;
   */
  waitsMax: number;

  /**
   * Other commands that may be under way at once.
   *
   * @generated from field: uint32 commands_max = 6;
   */
  commandsMax: number;

  /**
   * The most bytes of one request; a larger one ends the session.
   *
   * @generated from field: uint32 message_bytes_max = 7;
   */
  messageBytesMax: number;
};

/**
 * The terms of this session.
 *
 * @generated from message rowlock.v1.SessionOpened
 */
export declare type SessionOpenedJson = {
  /**
   * The server, as its log and metrics name it.
   *
   * @generated from field: string replica = 1;
   */
  replica?: string;

  /**
   * The client sends something at least this often.
   *
   * @generated from field: google.protobuf.Duration heartbeat_interval = 2;
   */
  heartbeatInterval?: DurationJson;

  /**
   * The server ends a session whose client is silent for longer.
   *
   * @generated from field: google.protobuf.Duration silence_max = 3;
   */
  silenceMax?: DurationJson;

  /**
   * How long the server keeps a place after the session is gone.
   *
   * @generated from field: google.protobuf.Duration grace_period = 4;
   */
  gracePeriod?: DurationJson;

  /**
   * Waits that may be open at once.
   *
   * @generated from field: uint32 waits_max = 5;
   */
  waitsMax?: number;

  /**
   * Other commands that may be under way at once.
   *
   * @generated from field: uint32 commands_max = 6;
   */
  commandsMax?: number;

  /**
   * The most bytes of one request; a larger one ends the session.
   *
   * @generated from field: uint32 message_bytes_max = 7;
   */
  messageBytesMax?: number;
};

/**
 * Describes the message rowlock.v1.SessionOpened.
 * Use `create(SessionOpenedSchema)` to create a new message.
 */
export declare const SessionOpenedSchema: GenMessage<SessionOpened, {jsonType: SessionOpenedJson}>;

/**
 * One result of one call.
 *
 * @generated from message rowlock.v1.SessionResult
 */
export declare type SessionResult = Message<"rowlock.v1.SessionResult"> & {
  /**
   * The call.
   *
   * @generated from field: uint64 call = 1;
   */
  call: bigint;

  /**
   * Exactly one is set. Each is the last result of its call, except for a position in the queue and the messages of a
   * watch.
   *
   * @generated from oneof rowlock.v1.SessionResult.result
   */
  result: {
    /**
     * Of acquire.
     *
     * @generated from field: rowlock.v1.AcquireResponse acquire = 2;
     */
    value: AcquireResponse;
    case: "acquire";
  } | {
    /**
     * Of wait_in_queue.
     *
     * @generated from field: rowlock.v1.WaitInQueueResponse wait_in_queue = 3;
     */
    value: WaitInQueueResponse;
    case: "waitInQueue";
  } | {
    /**
     * Of renew.
     *
     * @generated from field: rowlock.v1.RenewResponse renew = 4;
     */
    value: RenewResponse;
    case: "renew";
  } | {
    /**
     * Of renew_leases.
     *
     * @generated from field: rowlock.v1.RenewedLeases renew_leases = 5;
     */
    value: RenewedLeases;
    case: "renewLeases";
  } | {
    /**
     * Of release.
     *
     * @generated from field: rowlock.v1.ReleaseResponse release = 6;
     */
    value: ReleaseResponse;
    case: "release";
  } | {
    /**
     * Of set_limit.
     *
     * @generated from field: rowlock.v1.SetLimitResponse set_limit = 7;
     */
    value: SetLimitResponse;
    case: "setLimit";
  } | {
    /**
     * Of get_lock.
     *
     * @generated from field: rowlock.v1.GetLockResponse get_lock = 8;
     */
    value: GetLockResponse;
    case: "getLock";
  } | {
    /**
     * Of list_locks.
     *
     * @generated from field: rowlock.v1.ListLocksResponse list_locks = 9;
     */
    value: ListLocksResponse;
    case: "listLocks";
  } | {
    /**
     * Of list_limits.
     *
     * @generated from field: rowlock.v1.ListLimitsResponse list_limits = 10;
     */
    value: ListLimitsResponse;
    case: "listLimits";
  } | {
    /**
     * Of force_release.
     *
     * @generated from field: rowlock.v1.ForceReleaseResponse force_release = 11;
     */
    value: ForceReleaseResponse;
    case: "forceRelease";
  } | {
    /**
     * Of watch_locks.
     *
     * @generated from field: rowlock.v1.WatchLocksResponse watch_locks = 17;
     */
    value: WatchLocksResponse;
    case: "watchLocks";
  } | {
    /**
     * The call failed, with the code, message and details of a unary call.
     *
     * @generated from field: google.rpc.Status error = 12;
     */
    value: Status;
    case: "error";
  } | {
    /**
     * The server rejected a command because its number is 0 or belongs to an open call, which goes on.
     *
     * @generated from field: google.rpc.Status rejected = 13;
     */
    value: Status;
    case: "rejected";
  } | {
    /**
     * Of update_record.
     *
     * @generated from field: rowlock.v1.UpdateRecordResponse update_record = 14;
     */
    value: UpdateRecordResponse;
    case: "updateRecord";
  } | {
    /**
     * Of delete_record.
     *
     * @generated from field: rowlock.v1.DeleteRecordResponse delete_record = 15;
     */
    value: DeleteRecordResponse;
    case: "deleteRecord";
  } | {
    /**
     * Of capture.
     *
     * @generated from field: rowlock.v1.CaptureResponse capture = 16;
     */
    value: CaptureResponse;
    case: "capture";
  } | {
    /**
     * Of list_claims.
     *
     * @generated from field: rowlock.v1.ListClaimsResponse list_claims = 18;
     */
    value: ListClaimsResponse;
    case: "listClaims";
  } | {
    /**
     * Of list_changes.
     *
     * @generated from field: rowlock.v1.ListChangesResponse list_changes = 19;
     */
    value: ListChangesResponse;
    case: "listChanges";
  } | {
    /**
     * Of explain_wait.
     *
     * @generated from field: rowlock.v1.ExplainWaitResponse explain_wait = 20;
     */
    value: ExplainWaitResponse;
    case: "explainWait";
  } | { case: undefined; value?: undefined };
};

/**
 * One result of one call.
 *
 * @generated from message rowlock.v1.SessionResult
 */
export declare type SessionResultJson = {
  /**
   * The call.
   *
   * @generated from field: uint64 call = 1;
   */
  call?: string;

  /**
   * Of acquire.
   *
   * @generated from field: rowlock.v1.AcquireResponse acquire = 2;
   */
  acquire?: AcquireResponseJson;

  /**
   * Of wait_in_queue.
   *
   * @generated from field: rowlock.v1.WaitInQueueResponse wait_in_queue = 3;
   */
  waitInQueue?: WaitInQueueResponseJson;

  /**
   * Of renew.
   *
   * @generated from field: rowlock.v1.RenewResponse renew = 4;
   */
  renew?: RenewResponseJson;

  /**
   * Of renew_leases.
   *
   * @generated from field: rowlock.v1.RenewedLeases renew_leases = 5;
   */
  renewLeases?: RenewedLeasesJson;

  /**
   * Of release.
   *
   * @generated from field: rowlock.v1.ReleaseResponse release = 6;
   */
  release?: ReleaseResponseJson;

  /**
   * Of set_limit.
   *
   * @generated from field: rowlock.v1.SetLimitResponse set_limit = 7;
   */
  setLimit?: SetLimitResponseJson;

  /**
   * Of get_lock.
   *
   * @generated from field: rowlock.v1.GetLockResponse get_lock = 8;
   */
  getLock?: GetLockResponseJson;

  /**
   * Of list_locks.
   *
   * @generated from field: rowlock.v1.ListLocksResponse list_locks = 9;
   */
  listLocks?: ListLocksResponseJson;

  /**
   * Of list_limits.
   *
   * @generated from field: rowlock.v1.ListLimitsResponse list_limits = 10;
   */
  listLimits?: ListLimitsResponseJson;

  /**
   * Of force_release.
   *
   * @generated from field: rowlock.v1.ForceReleaseResponse force_release = 11;
   */
  forceRelease?: ForceReleaseResponseJson;

  /**
   * Of watch_locks.
   *
   * @generated from field: rowlock.v1.WatchLocksResponse watch_locks = 17;
   */
  watchLocks?: WatchLocksResponseJson;

  /**
   * The call failed, with the code, message and details of a unary call.
   *
   * @generated from field: google.rpc.Status error = 12;
   */
  error?: StatusJson;

  /**
   * The server rejected a command because its number is 0 or belongs to an open call, which goes on.
   *
   * @generated from field: google.rpc.Status rejected = 13;
   */
  rejected?: StatusJson;

  /**
   * Of update_record.
   *
   * @generated from field: rowlock.v1.UpdateRecordResponse update_record = 14;
   */
  updateRecord?: UpdateRecordResponseJson;

  /**
   * Of delete_record.
   *
   * @generated from field: rowlock.v1.DeleteRecordResponse delete_record = 15;
   */
  deleteRecord?: DeleteRecordResponseJson;

  /**
   * Of capture.
   *
   * @generated from field: rowlock.v1.CaptureResponse capture = 16;
   */
  capture?: CaptureResponseJson;

  /**
   * Of list_claims.
   *
   * @generated from field: rowlock.v1.ListClaimsResponse list_claims = 18;
   */
  listClaims?: ListClaimsResponseJson;

  /**
   * Of list_changes.
   *
   * @generated from field: rowlock.v1.ListChangesResponse list_changes = 19;
   */
  listChanges?: ListChangesResponseJson;

  /**
   * Of explain_wait.
   *
   * @generated from field: rowlock.v1.ExplainWaitResponse explain_wait = 20;
   */
  explainWait?: ExplainWaitResponseJson;
};

/**
 * Describes the message rowlock.v1.SessionResult.
 * Use `create(SessionResultSchema)` to create a new message.
 */
export declare const SessionResultSchema: GenMessage<SessionResult, {jsonType: SessionResultJson}>;

/**
 * A lease that is gone.
 *
 * @generated from message rowlock.v1.LostLease
 */
export declare type LostLease = Message<"rowlock.v1.LostLease"> & {
  /**
   * Which.
   *
   * @generated from field: string lease_id = 1;
   */
  leaseId: string;

  /**
   * Its lock.
   *
   * @generated from field: string lock_name = 2;
   */
  lockName: string;

  /**
   * How it ended: EXPIRED, FORCE_RELEASED, LAPSED, or RELEASED by somebody else who knew its id.
   *
   * @generated from field: rowlock.v1.RefusalReason reason = 3;
   */
  reason: RefusalReason;
};

/**
 * A lease that is gone.
 *
 * @generated from message rowlock.v1.LostLease
 */
export declare type LostLeaseJson = {
  /**
   * Which.
   *
   * @generated from field: string lease_id = 1;
   */
  leaseId?: string;

  /**
   * Its lock.
   *
   * @generated from field: string lock_name = 2;
   */
  lockName?: string;

  /**
   * How it ended: EXPIRED, FORCE_RELEASED, LAPSED, or RELEASED by somebody else who knew its id.
   *
   * @generated from field: rowlock.v1.RefusalReason reason = 3;
   */
  reason?: RefusalReasonJson;
};

/**
 * Describes the message rowlock.v1.LostLease.
 * Use `create(LostLeaseSchema)` to create a new message.
 */
export declare const LostLeaseSchema: GenMessage<LostLease, {jsonType: LostLeaseJson}>;

/**
 * The order of a listing.
 *
 * @generated from enum rowlock.v1.ListOrder
 */
export enum ListOrder {
  /**
   * Means LIST_ORDER_NAME.
   *
   * @generated from enum value: LIST_ORDER_UNSPECIFIED = 0;
   */
  UNSPECIFIED = 0,

  /**
   * By name, in byte order.
   *
   * @generated from enum value: LIST_ORDER_NAME = 1;
   */
  NAME = 1,

  /**
   * Locks with waiters, by the arrival of their first waiter, earliest first.
   *
   * @generated from enum value: LIST_ORDER_LONGEST_WAIT = 2;
   */
  LONGEST_WAIT = 2,

  /**
   * Locks with waiters, the longest queue first.
   *
   * @generated from enum value: LIST_ORDER_MOST_WAITERS = 3;
   */
  MOST_WAITERS = 3,
}

/**
 * The order of a listing.
 *
 * @generated from enum rowlock.v1.ListOrder
 */
export declare type ListOrderJson = "LIST_ORDER_UNSPECIFIED" | "LIST_ORDER_NAME" | "LIST_ORDER_LONGEST_WAIT" | "LIST_ORDER_MOST_WAITERS";

/**
 * Describes the enum rowlock.v1.ListOrder.
 */
export declare const ListOrderSchema: GenEnum<ListOrder, ListOrderJson>;

/**
 * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
 * first-come-first-served queues.
 *
 * @generated from service rowlock.v1.LockService
 */
export declare const LockService: GenService<{
  /**
   * Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
   * decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
   *
   * @generated from rpc rowlock.v1.LockService.Acquire
   */
  acquire: {
    methodKind: "unary";
    input: typeof AcquireRequestSchema;
    output: typeof AcquireResponseSchema;
  },
  /**
   * Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
   * another one when `ahead` or `permits_ahead` has changed, and finally `granted` or `ended`, which closes the stream.
   * Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
   * the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
   * get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
   * get its ticket before that.
   *
   * @generated from rpc rowlock.v1.LockService.WaitInQueue
   */
  waitInQueue: {
    methodKind: "server_streaming";
    input: typeof WaitInQueueRequestSchema;
    output: typeof WaitInQueueResponseSchema;
  },
  /**
   * Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST after the lease has ended, even if nobody took the
   * lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
   *
   * @generated from rpc rowlock.v1.LockService.Renew
   */
  renew: {
    methodKind: "unary";
    input: typeof RenewRequestSchema;
    output: typeof RenewResponseSchema;
  },
  /**
   * Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
   * repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
   * lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
   * these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
   *
   * @generated from rpc rowlock.v1.LockService.Release
   */
  release: {
    methodKind: "unary";
    input: typeof ReleaseRequestSchema;
    output: typeof ReleaseResponseSchema;
  },
  /**
   * Sets the limit for a name or a pattern to an absolute value. A higher limit grants waiters in the same transaction
   * (for a pattern, at the first 500 locks with waiters; at the others in further transactions before the answer). A
   * lower limit revokes nothing: the lock drains. If another transaction holds the rows of a lock, its waiters are
   * granted when the rows are free. A call that is repeated after a lost answer sets the limit again, over what others
   * have set since. With expected_version, the repeated call fails as VERSION_MISMATCH instead, with the version that
   * the first call made. See OUTCOME_UNKNOWN above.
   *
   * @generated from rpc rowlock.v1.LockService.SetLimit
   */
  setLimit: {
    methodKind: "unary";
    input: typeof SetLimitRequestSchema;
    output: typeof SetLimitResponseSchema;
  },
  /**
   * Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
   * deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
   * OVERLOADED if the server has too many reads for display.
   *
   * @generated from rpc rowlock.v1.LockService.GetLock
   */
  getLock: {
    methodKind: "unary";
    input: typeof GetLockRequestSchema;
    output: typeof GetLockResponseSchema;
  },
  /**
   * Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
   * A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
   *
   * @generated from rpc rowlock.v1.LockService.ListLocks
   */
  listLocks: {
    methodKind: "unary";
    input: typeof ListLocksRequestSchema;
    output: typeof ListLocksResponseSchema;
  },
  /**
   * Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
   * unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
   *
   * @generated from rpc rowlock.v1.LockService.ListLimits
   */
  listLimits: {
    methodKind: "unary";
    input: typeof ListLimitsRequestSchema;
    output: typeof ListLimitsResponseSchema;
  },
  /**
   * Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
   * in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the
   * times when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
   * retention time. A page ends early if the server has searched 10,000 ended claims for it: then it has a token and
   * `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
   * for GetLock.
   *
   * @generated from rpc rowlock.v1.LockService.ListClaims
   */
  listClaims: {
    methodKind: "unary";
    input: typeof ListClaimsRequestSchema;
    output: typeof ListClaimsResponseSchema;
  },
  /**
   * Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
   * keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
   * OVERLOADED as for GetLock.
   *
   * @generated from rpc rowlock.v1.LockService.ListChanges
   */
  listChanges: {
    methodKind: "unary";
    input: typeof ListChangesRequestSchema;
    output: typeof ListChangesResponseSchema;
  },
  /**
   * Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
   * read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
   *
   * @generated from rpc rowlock.v1.LockService.ExplainWait
   */
  explainWait: {
    methodKind: "unary";
    input: typeof ExplainWaitRequestSchema;
    output: typeof ExplainWaitResponseSchema;
  },
  /**
   * Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
   * shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
   * sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
   * s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
   *
   * The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
   * behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
   * `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
   * the server stops: then watch again through another server.
   *
   * A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps 100 watches of
   * 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
   * session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or one that was open before. Watch again
   * later, or watch a longer prefix.
   *
   * @generated from rpc rowlock.v1.LockService.WatchLocks
   */
  watchLocks: {
    methodKind: "server_streaming";
    input: typeof WatchLocksRequestSchema;
    output: typeof WatchLocksResponseSchema;
  },
  /**
   * Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
   * The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
   * a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
   * UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
   *
   * @generated from rpc rowlock.v1.LockService.ForceRelease
   */
  forceRelease: {
    methodKind: "unary";
    input: typeof ForceReleaseRequestSchema;
    output: typeof ForceReleaseResponseSchema;
  },
  /**
   * Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
   * that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
   * not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
   * after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
   * call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
   * since. See OUTCOME_UNKNOWN above.
   *
   * @generated from rpc rowlock.v1.LockService.UpdateRecord
   */
  updateRecord: {
    methodKind: "unary";
    input: typeof UpdateRecordRequestSchema;
    output: typeof UpdateRecordResponseSchema;
  },
  /**
   * Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
   * the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
   *
   * A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
   * call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
   * of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
   * leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
   *
   * The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
   * the prefix, but not with the number of locks.
   *
   * @generated from rpc rowlock.v1.LockService.Capture
   */
  capture: {
    methodKind: "unary";
    input: typeof CaptureRequestSchema;
    output: typeof CaptureResponseSchema;
  },
  /**
   * Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
   * its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
   * or waits for it. See OUTCOME_UNKNOWN above.
   *
   * @generated from rpc rowlock.v1.LockService.DeleteRecord
   */
  deleteRecord: {
    methodKind: "unary";
    input: typeof DeleteRecordRequestSchema;
    output: typeof DeleteRecordResponseSchema;
  },
  /**
   * Carries all calls of a client over one stream: any number of commands in each request, any number of results in
   * each response. It costs much less than single calls if a client has many locks or waits. The verbs mean the same.
   *
   * Calls: the client numbers them from 1 on. A number is free again after the last result of its call. Results of one
   * call come in order; between calls no order is promised. In one request, the server handles `cancel`, `release` and
   * renewals first and listings last.
   *
   * Presence: the waiters of a session are present while it lives. The server must hear from the client at least once
   * per `silence_max`, if need be by an empty request, or the session ends. However it ends, places are kept for the
   * grace period and leases until their ends. Only a call that the client cannot return to (an Acquire that waits,
   * without a request_id) is given up. The client returns with a new session, through any server. Its first request may
   * name all that it had: `wait_in_queue` with the ticket_id, `renew` with the lease_id, `acquire` with the same
   * request_id.
   *
   * Acknowledgements: `received` says how far the client has read. A grant after a wait is provisional until the client
   * has acknowledged the response that brought it. Then the server confirms the lease and sends it once more with its
   * whole ttl. If the request has min_interval, lock_delay, status_if_lost or if_status, the client renews the lease
   * before it begins to work: see Lease.provisional.
   *
   * Deadlines: a response says how many requests the server had received when it made the response. The holder's own
   * deadline for any lease in it is (monotonic time before it sent the last of those requests) + ttl - margin, also
   * for a provisional lease.
   *
   * Ends: OK when the client has closed its side and the last call has ended. UNAVAILABLE SHUTTING_DOWN when the server
   * stops, when it has lost its database and another server has not, or when the connection is as old as it may be: then it sends `going_away`, takes no more
   * commands, ends waits with that error, and finishes its other calls. INVALID_ARGUMENT BAD_REQUEST if the first
   * request lacks `open`, or a later one has it. UNAVAILABLE SESSION_SILENT. RESOURCE_EXHAUSTED OVERLOADED with the
   * bound `results_unread` if the client does not read its results. UNAUTHENTICATED CREDENTIALS_EXPIRED when the
   * token of its first request expires, and PERMISSION_DENIED RIGHT_MISSING when the caller loses a right: leases and
   * places are kept, as with any end. Otherwise as any call, for example for a message that is too large.
   *
   * @generated from rpc rowlock.v1.LockService.Session
   */
  session: {
    methodKind: "bidi_streaming";
    input: typeof SessionRequestSchema;
    output: typeof SessionResponseSchema;
  },
}>;

