// The verbs of Rowlock.
//
// An error is a google.rpc.Status in the `grpc-status-details-bin` trailer. It has a google.rpc.ErrorInfo of domain
// `rowlock` with a stable reason, and a google.rpc.RetryInfo if a retry can help:
//
//   INVALID_ARGUMENT    BAD_REQUEST         google.rpc.BadRequest lists every wrong field at once; a oneof that is not
//                                           set is the field `target`
//   INVALID_ARGUMENT    MALFORMED_MESSAGE   the bytes are not the message, for example text that is not UTF-8
//   NOT_FOUND           UNKNOWN_CLAIM       no such ticket or lease, or it ended longer ago than the retention time
//   NOT_FOUND           UNKNOWN_LOCK        ForceRelease: no such lock
//   FAILED_PRECONDITION LEASE_LOST          the lease has ended, for good; metadata has `end_reason`, a name of
//                                           RefusalReason: EXPIRED, RELEASED, FORCE_RELEASED, LAPSED, ...
//   FAILED_PRECONDITION NOT_GRANTED_YET     the ticket still waits
//   FAILED_PRECONDITION LOCK_IN_USE         DeleteLock: somebody holds the lock or waits for it
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
//                                           `quota_names`, `quota_records` (UpdateLock of a lock without a record)
//   RESOURCE_EXHAUSTED  MESSAGE_TOO_LARGE   the message exceeds the server's receive limit, which metadata has as
//                                           `bytes_max`
//   UNKNOWN             OUTCOME_UNKNOWN     SetLimit, UpdateLock, DeleteLock, ForceRelease: the database did not report
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
// If SetLimit, UpdateLock, DeleteLock or ForceRelease of a name fails as DATABASE_UNAVAILABLE, SHUTTING_DOWN or OVERLOADED,
// the server has not made the change, and the call is safe to repeat. After a lost answer or OUTCOME_UNKNOWN, a repeated call
// could undo what somebody else has set since, or end the leases of the next holders: read first (GetLock, ListLimits). The
// server itself never makes a change twice, nor over a later change.
//
// A deadline of a call beyond 24 days counts as none.

// @generated by protoc-gen-es v2.17.0 with parameter "target=js+dts,import_extension=js,json_types=true"
// @generated from file rowlock/v1/lock_service.proto (package rowlock.v1, syntax proto3)
/* eslint-disable */

import { enumDesc, fileDesc, messageDesc, serviceDesc, tsEnum } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_duration, file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
import { file_google_rpc_status } from "../../google/rpc/status_pb.js";
import { file_rowlock_v1_lock } from "./lock_pb.js";

/**
 * Describes the file rowlock/v1/lock_service.proto.
 */
export const file_rowlock_v1_lock_service = /*@__PURE__*/
  fileDesc("Ch1yb3dsb2NrL3YxL2xvY2tfc2VydmljZS5wcm90bxIKcm93bG9jay52MSKNBAoOQWNxdWlyZVJlcXVlc3QSDAoEbmFtZRgBIAEoCRIeCgRtb2RlGAIgASgOMhAucm93bG9jay52MS5Nb2RlEg8KB3Blcm1pdHMYAyABKA0SJgoDdHRsGAQgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEhEKCW5vX2V4cGlyeRgFIAEoCBISCgpyZXF1ZXN0X2lkGAYgASgJEg0KBW93bmVyGAcgASgJEjYKBmxhYmVscxgIIAMoCzImLnJvd2xvY2sudjEuQWNxdWlyZVJlcXVlc3QuTGFiZWxzRW50cnkSJwoJd2hlbl9idXN5GAkgASgOMhQucm93bG9jay52MS5XaGVuQnVzeRIrCghtYXhfd2FpdBgKIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIvCgxtaW5faW50ZXJ2YWwYCyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SLQoKbG9ja19kZWxheRgMIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIbCg5zdGF0dXNfaWZfbG9zdBgNIAEoCUgAiAEBEhEKCWlmX3N0YXR1cxgOIAMoCRotCgtMYWJlbHNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBQhEKD19zdGF0dXNfaWZfbG9zdCKOAQoPQWNxdWlyZVJlc3BvbnNlEiIKBWxlYXNlGAEgASgLMhEucm93bG9jay52MS5MZWFzZUgAEiQKBnRpY2tldBgCIAEoCzISLnJvd2xvY2sudjEuVGlja2V0SAASJgoHcmVmdXNhbBgDIAEoCzITLnJvd2xvY2sudjEuUmVmdXNhbEgAQgkKB291dGNvbWUimgEKEldhaXRJblF1ZXVlUmVxdWVzdBItCgdhY3F1aXJlGAEgASgLMhoucm93bG9jay52MS5BY3F1aXJlUmVxdWVzdEgAEhMKCXRpY2tldF9pZBgCIAEoCUgAEjYKE21pbl91cGRhdGVfaW50ZXJ2YWwYAyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb25CCAoGdGFyZ2V0IpMBChNXYWl0SW5RdWV1ZVJlc3BvbnNlEiYKCHBvc2l0aW9uGAEgASgLMhIucm93bG9jay52MS5UaWNrZXRIABIkCgdncmFudGVkGAIgASgLMhEucm93bG9jay52MS5MZWFzZUgAEiQKBWVuZGVkGAMgASgLMhMucm93bG9jay52MS5SZWZ1c2FsSABCCAoGdXBkYXRlIkgKDFJlbmV3UmVxdWVzdBIQCghsZWFzZV9pZBgBIAEoCRImCgN0dGwYAiABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24iMQoNUmVuZXdSZXNwb25zZRIgCgVsZWFzZRgBIAEoCzIRLnJvd2xvY2sudjEuTGVhc2UingEKDlJlbGVhc2VSZXF1ZXN0EhAKCGxlYXNlX2lkGAEgASgJEiwKCWNvb2xfZG93bhgCIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhITCgZzdGF0dXMYAyABKAlIAIgBARIaCg1hdHRlbXB0c19sZWZ0GAQgASgNSAGIAQFCCQoHX3N0YXR1c0IQCg5fYXR0ZW1wdHNfbGVmdCIjCg9SZWxlYXNlUmVzcG9uc2USEAoIcmVsZWFzZWQYASABKAgirwEKD1NldExpbWl0UmVxdWVzdBIOCgRuYW1lGAEgASgJSAASEQoHcGF0dGVybhgCIAEoCUgAEhIKBWxpbWl0GAMgASgNSAGIAQESDQoFdW5zZXQYBCABKAgSHQoQZXhwZWN0ZWRfdmVyc2lvbhgFIAEoBEgCiAEBEg4KBnJlYXNvbhgGIAEoCUIICgZ0YXJnZXRCCAoGX2xpbWl0QhMKEV9leHBlY3RlZF92ZXJzaW9uIoMBChBTZXRMaW1pdFJlc3BvbnNlEg0KBWxpbWl0GAEgASgNEg8KB3ZlcnNpb24YAiABKAQSFAoMaGVsZF9wZXJtaXRzGAMgASgEEg8KB3dhaXRpbmcYBCABKAQSEAoIZHJhaW5pbmcYBSABKAgSFgoOc2VydmVyc19iZWhpbmQYBiABKA0iHgoOR2V0TG9ja1JlcXVlc3QSDAoEbmFtZRgBIAEoCSIxCg9HZXRMb2NrUmVzcG9uc2USHgoEbG9jaxgBIAEoCzIQLnJvd2xvY2sudjEuTG9jayKCAQoQTGlzdExvY2tzUmVxdWVzdBIOCgZwcmVmaXgYASABKAkSEQoJcGFnZV9zaXplGAIgASgFEhIKCnBhZ2VfdG9rZW4YAyABKAkSEQoJYnVzeV9vbmx5GAQgASgIEiQKBW9yZGVyGAUgASgOMhUucm93bG9jay52MS5MaXN0T3JkZXIiTQoRTGlzdExvY2tzUmVzcG9uc2USHwoFbG9ja3MYASADKAsyEC5yb3dsb2NrLnYxLkxvY2sSFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJIiMKEVdhdGNoTG9ja3NSZXF1ZXN0Eg4KBnByZWZpeBgBIAEoCSJsChJXYXRjaExvY2tzUmVzcG9uc2USEgoKYmVnYW5fYW5ldxgBIAEoCBIfCgVsb2NrcxgCIAMoCzIQLnJvd2xvY2sudjEuTG9jaxIPCgdkZWxldGVkGAMgAygJEhAKCGNvbXBsZXRlGAQgASgIIkoKEUxpc3RMaW1pdHNSZXF1ZXN0Eg4KBnByZWZpeBgBIAEoCRIRCglwYWdlX3NpemUYAiABKAUSEgoKcGFnZV90b2tlbhgDIAEoCSJrCgxMaW1pdFNldHRpbmcSDgoEbmFtZRgBIAEoCUgAEhEKB3BhdHRlcm4YAiABKAlIABINCgVsaW1pdBgDIAEoDRIPCgd2ZXJzaW9uGAQgASgEEg4KBnJlYXNvbhgFIAEoCUIICgZ0YXJnZXQiVwoSTGlzdExpbWl0c1Jlc3BvbnNlEigKBmxpbWl0cxgBIAMoCzIYLnJvd2xvY2sudjEuTGltaXRTZXR0aW5nEhcKD25leHRfcGFnZV90b2tlbhgCIAEoCSLDAwoRTGlzdENsYWltc1JlcXVlc3QSEQoJbG9ja19uYW1lGAEgASgJEg4KBnByZWZpeBgCIAEoCRINCgVvd25lchgDIAEoCRIRCglwcmluY2lwYWwYBCABKAkSOQoGbGFiZWxzGAUgAygLMikucm93bG9jay52MS5MaXN0Q2xhaW1zUmVxdWVzdC5MYWJlbHNFbnRyeRImCgZzdGF0ZXMYBiADKA4yFi5yb3dsb2NrLnYxLkNsYWltU3RhdGUSLgoLZW5kX3JlYXNvbnMYByADKA4yGS5yb3dsb2NrLnYxLlJlZnVzYWxSZWFzb24SKAoEZnJvbRgIIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASKQoFdW50aWwYCSABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEisKB2hlbGRfYXQYCiABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEhEKCXBhZ2Vfc2l6ZRgLIAEoBRISCgpwYWdlX3Rva2VuGAwgASgJGi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAEiuQEKEkxpc3RDbGFpbXNSZXNwb25zZRIhCgZjbGFpbXMYASADKAsyES5yb3dsb2NrLnYxLkNsYWltEhcKD25leHRfcGFnZV90b2tlbhgCIAEoCRI0ChBzZWFyY2hlZF9iYWNrX3RvGAMgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIxCg1jb21wbGV0ZV9mcm9tGAQgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcCLuAQoSTGlzdENoYW5nZXNSZXF1ZXN0EhEKCWxvY2tfbmFtZRgBIAEoCRIOCgZwcmVmaXgYAiABKAkSJQoFa2luZHMYAyADKA4yFi5yb3dsb2NrLnYxLkNoYW5nZUtpbmQSKAoEZnJvbRgEIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASKQoFdW50aWwYBSABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEhIKCmNoYW5nZWRfYnkYBiABKAkSEQoJcGFnZV9zaXplGAcgASgFEhIKCnBhZ2VfdG9rZW4YCCABKAkivAEKE0xpc3RDaGFuZ2VzUmVzcG9uc2USIwoHY2hhbmdlcxgBIAMoCzISLnJvd2xvY2sudjEuQ2hhbmdlEhcKD25leHRfcGFnZV90b2tlbhgCIAEoCRI0ChBzZWFyY2hlZF9iYWNrX3RvGAMgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIxCg1jb21wbGV0ZV9mcm9tGAQgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcCJwChJFeHBsYWluV2FpdFJlcXVlc3QSDgoEbmFtZRgBIAEoCUgAEhMKCXRpY2tldF9pZBgCIAEoCUgAEisKBWNsYWltGAMgASgLMhoucm93bG9jay52MS5DbGFpbVJlZmVyZW5jZUgAQggKBnRhcmdldCK7AQoTRXhwbGFpbldhaXRSZXNwb25zZRIeCgRsb2NrGAEgASgLMhAucm93bG9jay52MS5Mb2NrEiAKBWNsYWltGAIgASgLMhEucm93bG9jay52MS5DbGFpbRIlCgZjYXVzZXMYAyADKAsyFS5yb3dsb2NrLnYxLldhaXRDYXVzZRIPCgdzdW1tYXJ5GAQgASgJEioKCGVzdGltYXRlGAUgASgLMhgucm93bG9jay52MS5XYWl0RXN0aW1hdGUiOgoOQ2xhaW1SZWZlcmVuY2USEQoJbG9ja19uYW1lGAEgASgJEhUKDXRpY2tldF9udW1iZXIYAiABKAQibAoTRm9yY2VSZWxlYXNlUmVxdWVzdBIOCgRuYW1lGAEgASgJSAASKwoFY2xhaW0YAiABKAsyGi5yb3dsb2NrLnYxLkNsYWltUmVmZXJlbmNlSAASDgoGcmVhc29uGAMgASgJQggKBnRhcmdldCJLChRGb3JjZVJlbGVhc2VSZXNwb25zZRIgCgVlbmRlZBgBIAMoCzIRLnJvd2xvY2sudjEuQ2xhaW0SEQoJcmVtYWluaW5nGAIgASgNIrwCChFVcGRhdGVMb2NrUmVxdWVzdBIMCgRuYW1lGAEgASgJEi4KCm5vdF9iZWZvcmUYAiABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEjAKDW5vdF9iZWZvcmVfaW4YAyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SGAoQdW5zZXRfbm90X2JlZm9yZRgEIAEoCBIaCg1hdHRlbXB0c19sZWZ0GAUgASgNSACIAQESGwoTdW5zZXRfYXR0ZW1wdHNfbGVmdBgGIAEoCBITCgZzdGF0dXMYByABKAlIAYgBARIdChBleHBlY3RlZF92ZXJzaW9uGAggASgESAKIAQFCEAoOX2F0dGVtcHRzX2xlZnRCCQoHX3N0YXR1c0ITChFfZXhwZWN0ZWRfdmVyc2lvbiI8ChJVcGRhdGVMb2NrUmVzcG9uc2USJgoGcmVjb3JkGAEgASgLMhYucm93bG9jay52MS5Mb2NrUmVjb3JkIlUKEURlbGV0ZUxvY2tSZXF1ZXN0EgwKBG5hbWUYASABKAkSHQoQZXhwZWN0ZWRfdmVyc2lvbhgCIAEoBEgAiAEBQhMKEV9leHBlY3RlZF92ZXJzaW9uIiUKEkRlbGV0ZUxvY2tSZXNwb25zZRIPCgdkZWxldGVkGAEgASgIItUDCg5DYXB0dXJlUmVxdWVzdBITCgZwcmVmaXgYASABKAlIAIgBARINCgVuYW1lcxgCIAMoCRISCgptYXhfbGVhc2VzGAMgASgNEhEKCWlmX3N0YXR1cxgEIAMoCRImCgN0dGwYBSABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SEgoKcmVxdWVzdF9pZBgGIAEoCRINCgVvd25lchgHIAEoCRI2CgZsYWJlbHMYCCADKAsyJi5yb3dsb2NrLnYxLkNhcHR1cmVSZXF1ZXN0LkxhYmVsc0VudHJ5EisKCG1heF93YWl0GAkgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEi8KDG1pbl9pbnRlcnZhbBgKIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhItCgpsb2NrX2RlbGF5GAsgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEhsKDnN0YXR1c19pZl9sb3N0GAwgASgJSAGIAQEaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUIJCgdfcHJlZml4QhEKD19zdGF0dXNfaWZfbG9zdCJ5Cg9DYXB0dXJlUmVzcG9uc2USIQoGbGVhc2VzGAEgAygLMhEucm93bG9jay52MS5MZWFzZRIuCgtyZXRyeV9hZnRlchgCIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhITCgtpc19yZXBlYXRlZBgDIAEoCCJ3Cg5TZXNzaW9uUmVxdWVzdBIlCgRvcGVuGAEgASgLMhcucm93bG9jay52MS5TZXNzaW9uT3BlbhIsCghjb21tYW5kcxgCIAMoCzIaLnJvd2xvY2sudjEuU2Vzc2lvbkNvbW1hbmQSEAoIcmVjZWl2ZWQYAyABKAQigAEKC1Nlc3Npb25PcGVuEg0KBW93bmVyGAEgASgJEjMKBmxhYmVscxgCIAMoCzIjLnJvd2xvY2sudjEuU2Vzc2lvbk9wZW4uTGFiZWxzRW50cnkaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASLsBwoOU2Vzc2lvbkNvbW1hbmQSDAoEY2FsbBgBIAEoBBIqCgd0aW1lb3V0GAIgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEhMKC3RyYWNlcGFyZW50GBUgASgJEi0KB2FjcXVpcmUYAyABKAsyGi5yb3dsb2NrLnYxLkFjcXVpcmVSZXF1ZXN0SAASNwoNd2FpdF9pbl9xdWV1ZRgEIAEoCzIeLnJvd2xvY2sudjEuV2FpdEluUXVldWVSZXF1ZXN0SAASKQoFcmVuZXcYBSABKAsyGC5yb3dsb2NrLnYxLlJlbmV3UmVxdWVzdEgAEi8KDHJlbmV3X2xlYXNlcxgGIAEoCzIXLnJvd2xvY2sudjEuUmVuZXdMZWFzZXNIABItCgdyZWxlYXNlGAcgASgLMhoucm93bG9jay52MS5SZWxlYXNlUmVxdWVzdEgAEjAKCXNldF9saW1pdBgIIAEoCzIbLnJvd2xvY2sudjEuU2V0TGltaXRSZXF1ZXN0SAASLgoIZ2V0X2xvY2sYCSABKAsyGi5yb3dsb2NrLnYxLkdldExvY2tSZXF1ZXN0SAASMgoKbGlzdF9sb2NrcxgKIAEoCzIcLnJvd2xvY2sudjEuTGlzdExvY2tzUmVxdWVzdEgAEjQKC2xpc3RfbGltaXRzGAsgASgLMh0ucm93bG9jay52MS5MaXN0TGltaXRzUmVxdWVzdEgAEjgKDWZvcmNlX3JlbGVhc2UYDCABKAsyHy5yb3dsb2NrLnYxLkZvcmNlUmVsZWFzZVJlcXVlc3RIABI0Cgt3YXRjaF9sb2NrcxgRIAEoCzIdLnJvd2xvY2sudjEuV2F0Y2hMb2Nrc1JlcXVlc3RIABIQCgZjYW5jZWwYDSABKARIABI0Cgt1cGRhdGVfbG9jaxgOIAEoCzIdLnJvd2xvY2sudjEuVXBkYXRlTG9ja1JlcXVlc3RIABI0CgtkZWxldGVfbG9jaxgPIAEoCzIdLnJvd2xvY2sudjEuRGVsZXRlTG9ja1JlcXVlc3RIABItCgdjYXB0dXJlGBAgASgLMhoucm93bG9jay52MS5DYXB0dXJlUmVxdWVzdEgAEjQKC2xpc3RfY2xhaW1zGBIgASgLMh0ucm93bG9jay52MS5MaXN0Q2xhaW1zUmVxdWVzdEgAEjYKDGxpc3RfY2hhbmdlcxgTIAEoCzIeLnJvd2xvY2sudjEuTGlzdENoYW5nZXNSZXF1ZXN0SAASNgoMZXhwbGFpbl93YWl0GBQgASgLMh4ucm93bG9jay52MS5FeHBsYWluV2FpdFJlcXVlc3RIAEIJCgdjb21tYW5kIjcKC1JlbmV3TGVhc2VzEigKBmxlYXNlcxgBIAMoCzIYLnJvd2xvY2sudjEuUmVuZXdSZXF1ZXN0IjkKDVJlbmV3ZWRMZWFzZXMSKAoGbGVhc2VzGAEgAygLMhgucm93bG9jay52MS5SZW5ld2VkTGVhc2UiYgoMUmVuZXdlZExlYXNlEiIKBWxlYXNlGAEgASgLMhEucm93bG9jay52MS5MZWFzZUgAEiMKBWVycm9yGAIgASgLMhIuZ29vZ2xlLnJwYy5TdGF0dXNIAEIJCgdvdXRjb21lItYBCg9TZXNzaW9uUmVzcG9uc2USKQoGb3BlbmVkGAEgASgLMhkucm93bG9jay52MS5TZXNzaW9uT3BlbmVkEioKB3Jlc3VsdHMYAiADKAsyGS5yb3dsb2NrLnYxLlNlc3Npb25SZXN1bHQSDQoFaGVhcmQYAyABKAQSIwoEbG9zdBgEIAMoCzIVLnJvd2xvY2sudjEuTG9zdExlYXNlEiQKCWNvbmZpcm1lZBgFIAMoCzIRLnJvd2xvY2sudjEuTGVhc2USEgoKZ29pbmdfYXdheRgGIAEoCCL8AQoNU2Vzc2lvbk9wZW5lZBIPCgdyZXBsaWNhGAEgASgJEjUKEmhlYXJ0YmVhdF9pbnRlcnZhbBgCIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIuCgtzaWxlbmNlX21heBgDIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIvCgxncmFjZV9wZXJpb2QYBCABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SEQoJd2FpdHNfbWF4GAUgASgNEhQKDGNvbW1hbmRzX21heBgGIAEoDRIZChFtZXNzYWdlX2J5dGVzX21heBgHIAEoDSL2BwoNU2Vzc2lvblJlc3VsdBIMCgRjYWxsGAEgASgEEi4KB2FjcXVpcmUYAiABKAsyGy5yb3dsb2NrLnYxLkFjcXVpcmVSZXNwb25zZUgAEjgKDXdhaXRfaW5fcXVldWUYAyABKAsyHy5yb3dsb2NrLnYxLldhaXRJblF1ZXVlUmVzcG9uc2VIABIqCgVyZW5ldxgEIAEoCzIZLnJvd2xvY2sudjEuUmVuZXdSZXNwb25zZUgAEjEKDHJlbmV3X2xlYXNlcxgFIAEoCzIZLnJvd2xvY2sudjEuUmVuZXdlZExlYXNlc0gAEi4KB3JlbGVhc2UYBiABKAsyGy5yb3dsb2NrLnYxLlJlbGVhc2VSZXNwb25zZUgAEjEKCXNldF9saW1pdBgHIAEoCzIcLnJvd2xvY2sudjEuU2V0TGltaXRSZXNwb25zZUgAEi8KCGdldF9sb2NrGAggASgLMhsucm93bG9jay52MS5HZXRMb2NrUmVzcG9uc2VIABIzCgpsaXN0X2xvY2tzGAkgASgLMh0ucm93bG9jay52MS5MaXN0TG9ja3NSZXNwb25zZUgAEjUKC2xpc3RfbGltaXRzGAogASgLMh4ucm93bG9jay52MS5MaXN0TGltaXRzUmVzcG9uc2VIABI5Cg1mb3JjZV9yZWxlYXNlGAsgASgLMiAucm93bG9jay52MS5Gb3JjZVJlbGVhc2VSZXNwb25zZUgAEjUKC3dhdGNoX2xvY2tzGBEgASgLMh4ucm93bG9jay52MS5XYXRjaExvY2tzUmVzcG9uc2VIABIjCgVlcnJvchgMIAEoCzISLmdvb2dsZS5ycGMuU3RhdHVzSAASJgoIcmVqZWN0ZWQYDSABKAsyEi5nb29nbGUucnBjLlN0YXR1c0gAEjUKC3VwZGF0ZV9sb2NrGA4gASgLMh4ucm93bG9jay52MS5VcGRhdGVMb2NrUmVzcG9uc2VIABI1CgtkZWxldGVfbG9jaxgPIAEoCzIeLnJvd2xvY2sudjEuRGVsZXRlTG9ja1Jlc3BvbnNlSAASLgoHY2FwdHVyZRgQIAEoCzIbLnJvd2xvY2sudjEuQ2FwdHVyZVJlc3BvbnNlSAASNQoLbGlzdF9jbGFpbXMYEiABKAsyHi5yb3dsb2NrLnYxLkxpc3RDbGFpbXNSZXNwb25zZUgAEjcKDGxpc3RfY2hhbmdlcxgTIAEoCzIfLnJvd2xvY2sudjEuTGlzdENoYW5nZXNSZXNwb25zZUgAEjcKDGV4cGxhaW5fd2FpdBgUIAEoCzIfLnJvd2xvY2sudjEuRXhwbGFpbldhaXRSZXNwb25zZUgAQggKBnJlc3VsdCJbCglMb3N0TGVhc2USEAoIbGVhc2VfaWQYASABKAkSEQoJbG9ja19uYW1lGAIgASgJEikKBnJlYXNvbhgDIAEoDjIZLnJvd2xvY2sudjEuUmVmdXNhbFJlYXNvbip2CglMaXN0T3JkZXISGgoWTElTVF9PUkRFUl9VTlNQRUNJRklFRBAAEhMKD0xJU1RfT1JERVJfTkFNRRABEhsKF0xJU1RfT1JERVJfTE9OR0VTVF9XQUlUEAISGwoXTElTVF9PUkRFUl9NT1NUX1dBSVRFUlMQAzL8CQoLTG9ja1NlcnZpY2USQgoHQWNxdWlyZRIaLnJvd2xvY2sudjEuQWNxdWlyZVJlcXVlc3QaGy5yb3dsb2NrLnYxLkFjcXVpcmVSZXNwb25zZRJQCgtXYWl0SW5RdWV1ZRIeLnJvd2xvY2sudjEuV2FpdEluUXVldWVSZXF1ZXN0Gh8ucm93bG9jay52MS5XYWl0SW5RdWV1ZVJlc3BvbnNlMAESPAoFUmVuZXcSGC5yb3dsb2NrLnYxLlJlbmV3UmVxdWVzdBoZLnJvd2xvY2sudjEuUmVuZXdSZXNwb25zZRJCCgdSZWxlYXNlEhoucm93bG9jay52MS5SZWxlYXNlUmVxdWVzdBobLnJvd2xvY2sudjEuUmVsZWFzZVJlc3BvbnNlEkUKCFNldExpbWl0Ehsucm93bG9jay52MS5TZXRMaW1pdFJlcXVlc3QaHC5yb3dsb2NrLnYxLlNldExpbWl0UmVzcG9uc2USQgoHR2V0TG9jaxIaLnJvd2xvY2sudjEuR2V0TG9ja1JlcXVlc3QaGy5yb3dsb2NrLnYxLkdldExvY2tSZXNwb25zZRJICglMaXN0TG9ja3MSHC5yb3dsb2NrLnYxLkxpc3RMb2Nrc1JlcXVlc3QaHS5yb3dsb2NrLnYxLkxpc3RMb2Nrc1Jlc3BvbnNlEksKCkxpc3RMaW1pdHMSHS5yb3dsb2NrLnYxLkxpc3RMaW1pdHNSZXF1ZXN0Gh4ucm93bG9jay52MS5MaXN0TGltaXRzUmVzcG9uc2USSwoKTGlzdENsYWltcxIdLnJvd2xvY2sudjEuTGlzdENsYWltc1JlcXVlc3QaHi5yb3dsb2NrLnYxLkxpc3RDbGFpbXNSZXNwb25zZRJOCgtMaXN0Q2hhbmdlcxIeLnJvd2xvY2sudjEuTGlzdENoYW5nZXNSZXF1ZXN0Gh8ucm93bG9jay52MS5MaXN0Q2hhbmdlc1Jlc3BvbnNlEk4KC0V4cGxhaW5XYWl0Eh4ucm93bG9jay52MS5FeHBsYWluV2FpdFJlcXVlc3QaHy5yb3dsb2NrLnYxLkV4cGxhaW5XYWl0UmVzcG9uc2USTQoKV2F0Y2hMb2NrcxIdLnJvd2xvY2sudjEuV2F0Y2hMb2Nrc1JlcXVlc3QaHi5yb3dsb2NrLnYxLldhdGNoTG9ja3NSZXNwb25zZTABElEKDEZvcmNlUmVsZWFzZRIfLnJvd2xvY2sudjEuRm9yY2VSZWxlYXNlUmVxdWVzdBogLnJvd2xvY2sudjEuRm9yY2VSZWxlYXNlUmVzcG9uc2USSwoKVXBkYXRlTG9jaxIdLnJvd2xvY2sudjEuVXBkYXRlTG9ja1JlcXVlc3QaHi5yb3dsb2NrLnYxLlVwZGF0ZUxvY2tSZXNwb25zZRJCCgdDYXB0dXJlEhoucm93bG9jay52MS5DYXB0dXJlUmVxdWVzdBobLnJvd2xvY2sudjEuQ2FwdHVyZVJlc3BvbnNlEksKCkRlbGV0ZUxvY2sSHS5yb3dsb2NrLnYxLkRlbGV0ZUxvY2tSZXF1ZXN0Gh4ucm93bG9jay52MS5EZWxldGVMb2NrUmVzcG9uc2USRgoHU2Vzc2lvbhIaLnJvd2xvY2sudjEuU2Vzc2lvblJlcXVlc3QaGy5yb3dsb2NrLnYxLlNlc3Npb25SZXNwb25zZSgBMAFCogEKCnJvd2xvY2sudjFCEExvY2tTZXJ2aWNlUHJvdG9QAVo5Z2l0aHViLmNvbS9yb3dsb2NrL3Jvd2xvY2svY2xpZW50cy9nby9yb3dsb2NrdjE7cm93bG9ja3YxogIDUkxLqgIKUm93bG9jay5WMcoCClJvd2xvY2tcVjHiAhZSb3dsb2NrXFYxXEdQQk1ldGFkYXRh6gILUm93bG9jazo6VjFiBnByb3RvMw", [file_google_protobuf_duration, file_google_protobuf_timestamp, file_google_rpc_status, file_rowlock_v1_lock]);

/**
 * Describes the message rowlock.v1.AcquireRequest.
 * Use `create(AcquireRequestSchema)` to create a new message.
 */
export const AcquireRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 0);

/**
 * Describes the message rowlock.v1.AcquireResponse.
 * Use `create(AcquireResponseSchema)` to create a new message.
 */
export const AcquireResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 1);

/**
 * Describes the message rowlock.v1.WaitInQueueRequest.
 * Use `create(WaitInQueueRequestSchema)` to create a new message.
 */
export const WaitInQueueRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 2);

/**
 * Describes the message rowlock.v1.WaitInQueueResponse.
 * Use `create(WaitInQueueResponseSchema)` to create a new message.
 */
export const WaitInQueueResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 3);

/**
 * Describes the message rowlock.v1.RenewRequest.
 * Use `create(RenewRequestSchema)` to create a new message.
 */
export const RenewRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 4);

/**
 * Describes the message rowlock.v1.RenewResponse.
 * Use `create(RenewResponseSchema)` to create a new message.
 */
export const RenewResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 5);

/**
 * Describes the message rowlock.v1.ReleaseRequest.
 * Use `create(ReleaseRequestSchema)` to create a new message.
 */
export const ReleaseRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 6);

/**
 * Describes the message rowlock.v1.ReleaseResponse.
 * Use `create(ReleaseResponseSchema)` to create a new message.
 */
export const ReleaseResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 7);

/**
 * Describes the message rowlock.v1.SetLimitRequest.
 * Use `create(SetLimitRequestSchema)` to create a new message.
 */
export const SetLimitRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 8);

/**
 * Describes the message rowlock.v1.SetLimitResponse.
 * Use `create(SetLimitResponseSchema)` to create a new message.
 */
export const SetLimitResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 9);

/**
 * Describes the message rowlock.v1.GetLockRequest.
 * Use `create(GetLockRequestSchema)` to create a new message.
 */
export const GetLockRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 10);

/**
 * Describes the message rowlock.v1.GetLockResponse.
 * Use `create(GetLockResponseSchema)` to create a new message.
 */
export const GetLockResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 11);

/**
 * Describes the message rowlock.v1.ListLocksRequest.
 * Use `create(ListLocksRequestSchema)` to create a new message.
 */
export const ListLocksRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 12);

/**
 * Describes the message rowlock.v1.ListLocksResponse.
 * Use `create(ListLocksResponseSchema)` to create a new message.
 */
export const ListLocksResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 13);

/**
 * Describes the message rowlock.v1.WatchLocksRequest.
 * Use `create(WatchLocksRequestSchema)` to create a new message.
 */
export const WatchLocksRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 14);

/**
 * Describes the message rowlock.v1.WatchLocksResponse.
 * Use `create(WatchLocksResponseSchema)` to create a new message.
 */
export const WatchLocksResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 15);

/**
 * Describes the message rowlock.v1.ListLimitsRequest.
 * Use `create(ListLimitsRequestSchema)` to create a new message.
 */
export const ListLimitsRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 16);

/**
 * Describes the message rowlock.v1.LimitSetting.
 * Use `create(LimitSettingSchema)` to create a new message.
 */
export const LimitSettingSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 17);

/**
 * Describes the message rowlock.v1.ListLimitsResponse.
 * Use `create(ListLimitsResponseSchema)` to create a new message.
 */
export const ListLimitsResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 18);

/**
 * Describes the message rowlock.v1.ListClaimsRequest.
 * Use `create(ListClaimsRequestSchema)` to create a new message.
 */
export const ListClaimsRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 19);

/**
 * Describes the message rowlock.v1.ListClaimsResponse.
 * Use `create(ListClaimsResponseSchema)` to create a new message.
 */
export const ListClaimsResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 20);

/**
 * Describes the message rowlock.v1.ListChangesRequest.
 * Use `create(ListChangesRequestSchema)` to create a new message.
 */
export const ListChangesRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 21);

/**
 * Describes the message rowlock.v1.ListChangesResponse.
 * Use `create(ListChangesResponseSchema)` to create a new message.
 */
export const ListChangesResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 22);

/**
 * Describes the message rowlock.v1.ExplainWaitRequest.
 * Use `create(ExplainWaitRequestSchema)` to create a new message.
 */
export const ExplainWaitRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 23);

/**
 * Describes the message rowlock.v1.ExplainWaitResponse.
 * Use `create(ExplainWaitResponseSchema)` to create a new message.
 */
export const ExplainWaitResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 24);

/**
 * Describes the message rowlock.v1.ClaimReference.
 * Use `create(ClaimReferenceSchema)` to create a new message.
 */
export const ClaimReferenceSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 25);

/**
 * Describes the message rowlock.v1.ForceReleaseRequest.
 * Use `create(ForceReleaseRequestSchema)` to create a new message.
 */
export const ForceReleaseRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 26);

/**
 * Describes the message rowlock.v1.ForceReleaseResponse.
 * Use `create(ForceReleaseResponseSchema)` to create a new message.
 */
export const ForceReleaseResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 27);

/**
 * Describes the message rowlock.v1.UpdateLockRequest.
 * Use `create(UpdateLockRequestSchema)` to create a new message.
 */
export const UpdateLockRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 28);

/**
 * Describes the message rowlock.v1.UpdateLockResponse.
 * Use `create(UpdateLockResponseSchema)` to create a new message.
 */
export const UpdateLockResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 29);

/**
 * Describes the message rowlock.v1.DeleteLockRequest.
 * Use `create(DeleteLockRequestSchema)` to create a new message.
 */
export const DeleteLockRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 30);

/**
 * Describes the message rowlock.v1.DeleteLockResponse.
 * Use `create(DeleteLockResponseSchema)` to create a new message.
 */
export const DeleteLockResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 31);

/**
 * Describes the message rowlock.v1.CaptureRequest.
 * Use `create(CaptureRequestSchema)` to create a new message.
 */
export const CaptureRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 32);

/**
 * Describes the message rowlock.v1.CaptureResponse.
 * Use `create(CaptureResponseSchema)` to create a new message.
 */
export const CaptureResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 33);

/**
 * Describes the message rowlock.v1.SessionRequest.
 * Use `create(SessionRequestSchema)` to create a new message.
 */
export const SessionRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 34);

/**
 * Describes the message rowlock.v1.SessionOpen.
 * Use `create(SessionOpenSchema)` to create a new message.
 */
export const SessionOpenSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 35);

/**
 * Describes the message rowlock.v1.SessionCommand.
 * Use `create(SessionCommandSchema)` to create a new message.
 */
export const SessionCommandSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 36);

/**
 * Describes the message rowlock.v1.RenewLeases.
 * Use `create(RenewLeasesSchema)` to create a new message.
 */
export const RenewLeasesSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 37);

/**
 * Describes the message rowlock.v1.RenewedLeases.
 * Use `create(RenewedLeasesSchema)` to create a new message.
 */
export const RenewedLeasesSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 38);

/**
 * Describes the message rowlock.v1.RenewedLease.
 * Use `create(RenewedLeaseSchema)` to create a new message.
 */
export const RenewedLeaseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 39);

/**
 * Describes the message rowlock.v1.SessionResponse.
 * Use `create(SessionResponseSchema)` to create a new message.
 */
export const SessionResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 40);

/**
 * Describes the message rowlock.v1.SessionOpened.
 * Use `create(SessionOpenedSchema)` to create a new message.
 */
export const SessionOpenedSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 41);

/**
 * Describes the message rowlock.v1.SessionResult.
 * Use `create(SessionResultSchema)` to create a new message.
 */
export const SessionResultSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 42);

/**
 * Describes the message rowlock.v1.LostLease.
 * Use `create(LostLeaseSchema)` to create a new message.
 */
export const LostLeaseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 43);

/**
 * Describes the enum rowlock.v1.ListOrder.
 */
export const ListOrderSchema = /*@__PURE__*/
  enumDesc(file_rowlock_v1_lock_service, 0);

/**
 * The order of a listing.
 *
 * @generated from enum rowlock.v1.ListOrder
 */
export const ListOrder = /*@__PURE__*/
  tsEnum(ListOrderSchema);

/**
 * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
 * first-come-first-served queues.
 *
 * @generated from service rowlock.v1.LockService
 */
export const LockService = /*@__PURE__*/
  serviceDesc(file_rowlock_v1_lock_service, 0);

