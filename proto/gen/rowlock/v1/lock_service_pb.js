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

import { enumDesc, fileDesc, messageDesc, serviceDesc, tsEnum } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_duration, file_google_protobuf_empty, file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
import { file_google_rpc_status } from "../../google/rpc/status_pb.js";
import { file_rowlock_v1_lock } from "./lock_pb.js";

/**
 * Describes the file rowlock/v1/lock_service.proto.
 */
export const file_rowlock_v1_lock_service = /*@__PURE__*/
  fileDesc("Ch1yb3dsb2NrL3YxL2xvY2tfc2VydmljZS5wcm90bxIKcm93bG9jay52MSKNBAoOQWNxdWlyZVJlcXVlc3QSDAoEbmFtZRgBIAEoCRIeCgRtb2RlGAIgASgOMhAucm93bG9jay52MS5Nb2RlEg8KB3Blcm1pdHMYAyABKA0SJgoDdHRsGAQgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEhEKCW5vX2V4cGlyeRgFIAEoCBISCgpyZXF1ZXN0X2lkGAYgASgJEg0KBW93bmVyGAcgASgJEjYKBmxhYmVscxgIIAMoCzImLnJvd2xvY2sudjEuQWNxdWlyZVJlcXVlc3QuTGFiZWxzRW50cnkSJwoJd2hlbl9idXN5GAkgASgOMhQucm93bG9jay52MS5XaGVuQnVzeRIrCghtYXhfd2FpdBgKIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIvCgxtaW5faW50ZXJ2YWwYCyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SLQoKbG9ja19kZWxheRgMIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIbCg5zdGF0dXNfaWZfbG9zdBgNIAEoCUgAiAEBEhEKCWlmX3N0YXR1cxgOIAMoCRotCgtMYWJlbHNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBQhEKD19zdGF0dXNfaWZfbG9zdCKOAQoPQWNxdWlyZVJlc3BvbnNlEiIKBWxlYXNlGAEgASgLMhEucm93bG9jay52MS5MZWFzZUgAEiQKBnRpY2tldBgCIAEoCzISLnJvd2xvY2sudjEuVGlja2V0SAASJgoHcmVmdXNhbBgDIAEoCzITLnJvd2xvY2sudjEuUmVmdXNhbEgAQgkKB291dGNvbWUimgEKEldhaXRJblF1ZXVlUmVxdWVzdBItCgdhY3F1aXJlGAEgASgLMhoucm93bG9jay52MS5BY3F1aXJlUmVxdWVzdEgAEhMKCXRpY2tldF9pZBgCIAEoCUgAEjYKE21pbl91cGRhdGVfaW50ZXJ2YWwYAyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb25CCAoGdGFyZ2V0IpMBChNXYWl0SW5RdWV1ZVJlc3BvbnNlEiYKCHBvc2l0aW9uGAEgASgLMhIucm93bG9jay52MS5UaWNrZXRIABIkCgdncmFudGVkGAIgASgLMhEucm93bG9jay52MS5MZWFzZUgAEiQKBWVuZGVkGAMgASgLMhMucm93bG9jay52MS5SZWZ1c2FsSABCCAoGdXBkYXRlIkgKDFJlbmV3UmVxdWVzdBIQCghsZWFzZV9pZBgBIAEoCRImCgN0dGwYAiABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24iMQoNUmVuZXdSZXNwb25zZRIgCgVsZWFzZRgBIAEoCzIRLnJvd2xvY2sudjEuTGVhc2UingEKDlJlbGVhc2VSZXF1ZXN0EhAKCGxlYXNlX2lkGAEgASgJEiwKCWNvb2xfZG93bhgCIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhITCgZzdGF0dXMYAyABKAlIAIgBARIaCg1hdHRlbXB0c19sZWZ0GAQgASgNSAGIAQFCCQoHX3N0YXR1c0IQCg5fYXR0ZW1wdHNfbGVmdCIjCg9SZWxlYXNlUmVzcG9uc2USEAoIcmVsZWFzZWQYASABKAgizwEKD1NldExpbWl0UmVxdWVzdBIOCgRuYW1lGAEgASgJSAASEQoHcGF0dGVybhgCIAEoCUgAEg8KBWxpbWl0GAMgASgNSAESLQoLdW5zZXRfbGltaXQYBCABKAsyFi5nb29nbGUucHJvdG9idWYuRW1wdHlIARIdChBleHBlY3RlZF92ZXJzaW9uGAUgASgESAKIAQESDgoGcmVhc29uGAYgASgJQggKBnRhcmdldEILCgluZXdfbGltaXRCEwoRX2V4cGVjdGVkX3ZlcnNpb24igwEKEFNldExpbWl0UmVzcG9uc2USDQoFbGltaXQYASABKA0SDwoHdmVyc2lvbhgCIAEoBBIUCgxoZWxkX3Blcm1pdHMYAyABKAQSDwoHd2FpdGluZxgEIAEoBBIQCghkcmFpbmluZxgFIAEoCBIWCg5zZXJ2ZXJzX2JlaGluZBgGIAEoDSIeCg5HZXRMb2NrUmVxdWVzdBIMCgRuYW1lGAEgASgJIjEKD0dldExvY2tSZXNwb25zZRIeCgRsb2NrGAEgASgLMhAucm93bG9jay52MS5Mb2NrIoIBChBMaXN0TG9ja3NSZXF1ZXN0Eg4KBnByZWZpeBgBIAEoCRIRCglwYWdlX3NpemUYAiABKAUSEgoKcGFnZV90b2tlbhgDIAEoCRIRCglidXN5X29ubHkYBCABKAgSJAoFb3JkZXIYBSABKA4yFS5yb3dsb2NrLnYxLkxpc3RPcmRlciJNChFMaXN0TG9ja3NSZXNwb25zZRIfCgVsb2NrcxgBIAMoCzIQLnJvd2xvY2sudjEuTG9jaxIXCg9uZXh0X3BhZ2VfdG9rZW4YAiABKAkiIwoRV2F0Y2hMb2Nrc1JlcXVlc3QSDgoGcHJlZml4GAEgASgJImwKEldhdGNoTG9ja3NSZXNwb25zZRISCgpiZWdhbl9hbmV3GAEgASgIEh8KBWxvY2tzGAIgAygLMhAucm93bG9jay52MS5Mb2NrEg8KB2RlbGV0ZWQYAyADKAkSEAoIY29tcGxldGUYBCABKAgiSgoRTGlzdExpbWl0c1JlcXVlc3QSDgoGcHJlZml4GAEgASgJEhEKCXBhZ2Vfc2l6ZRgCIAEoBRISCgpwYWdlX3Rva2VuGAMgASgJImsKDExpbWl0U2V0dGluZxIOCgRuYW1lGAEgASgJSAASEQoHcGF0dGVybhgCIAEoCUgAEg0KBWxpbWl0GAMgASgNEg8KB3ZlcnNpb24YBCABKAQSDgoGcmVhc29uGAUgASgJQggKBnRhcmdldCJXChJMaXN0TGltaXRzUmVzcG9uc2USKAoGbGltaXRzGAEgAygLMhgucm93bG9jay52MS5MaW1pdFNldHRpbmcSFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJIsMDChFMaXN0Q2xhaW1zUmVxdWVzdBIRCglsb2NrX25hbWUYASABKAkSDgoGcHJlZml4GAIgASgJEg0KBW93bmVyGAMgASgJEhEKCXByaW5jaXBhbBgEIAEoCRI5CgZsYWJlbHMYBSADKAsyKS5yb3dsb2NrLnYxLkxpc3RDbGFpbXNSZXF1ZXN0LkxhYmVsc0VudHJ5EiYKBnN0YXRlcxgGIAMoDjIWLnJvd2xvY2sudjEuQ2xhaW1TdGF0ZRIuCgtlbmRfcmVhc29ucxgHIAMoDjIZLnJvd2xvY2sudjEuUmVmdXNhbFJlYXNvbhIoCgRmcm9tGAggASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIpCgV1bnRpbBgJIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASKwoHaGVsZF9hdBgKIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASEQoJcGFnZV9zaXplGAsgASgFEhIKCnBhZ2VfdG9rZW4YDCABKAkaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4ASK5AQoSTGlzdENsYWltc1Jlc3BvbnNlEiEKBmNsYWltcxgBIAMoCzIRLnJvd2xvY2sudjEuQ2xhaW0SFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJEjQKEHNlYXJjaGVkX2JhY2tfdG8YAyABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEjEKDWNvbXBsZXRlX2Zyb20YBCABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wIu4BChJMaXN0Q2hhbmdlc1JlcXVlc3QSEQoJbG9ja19uYW1lGAEgASgJEg4KBnByZWZpeBgCIAEoCRIlCgVraW5kcxgDIAMoDjIWLnJvd2xvY2sudjEuQ2hhbmdlS2luZBIoCgRmcm9tGAQgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIpCgV1bnRpbBgFIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASEgoKY2hhbmdlZF9ieRgGIAEoCRIRCglwYWdlX3NpemUYByABKAUSEgoKcGFnZV90b2tlbhgIIAEoCSK8AQoTTGlzdENoYW5nZXNSZXNwb25zZRIjCgdjaGFuZ2VzGAEgAygLMhIucm93bG9jay52MS5DaGFuZ2USFwoPbmV4dF9wYWdlX3Rva2VuGAIgASgJEjQKEHNlYXJjaGVkX2JhY2tfdG8YAyABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEjEKDWNvbXBsZXRlX2Zyb20YBCABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wInAKEkV4cGxhaW5XYWl0UmVxdWVzdBIOCgRuYW1lGAEgASgJSAASEwoJdGlja2V0X2lkGAIgASgJSAASKwoFY2xhaW0YAyABKAsyGi5yb3dsb2NrLnYxLkNsYWltUmVmZXJlbmNlSABCCAoGdGFyZ2V0IrsBChNFeHBsYWluV2FpdFJlc3BvbnNlEh4KBGxvY2sYASABKAsyEC5yb3dsb2NrLnYxLkxvY2sSIAoFY2xhaW0YAiABKAsyES5yb3dsb2NrLnYxLkNsYWltEiUKBmNhdXNlcxgDIAMoCzIVLnJvd2xvY2sudjEuV2FpdENhdXNlEg8KB3N1bW1hcnkYBCABKAkSKgoIZXN0aW1hdGUYBSABKAsyGC5yb3dsb2NrLnYxLldhaXRFc3RpbWF0ZSI6Cg5DbGFpbVJlZmVyZW5jZRIRCglsb2NrX25hbWUYASABKAkSFQoNdGlja2V0X251bWJlchgCIAEoBCJsChNGb3JjZVJlbGVhc2VSZXF1ZXN0Eg4KBG5hbWUYASABKAlIABIrCgVjbGFpbRgCIAEoCzIaLnJvd2xvY2sudjEuQ2xhaW1SZWZlcmVuY2VIABIOCgZyZWFzb24YAyABKAlCCAoGdGFyZ2V0IksKFEZvcmNlUmVsZWFzZVJlc3BvbnNlEiAKBWVuZGVkGAEgAygLMhEucm93bG9jay52MS5DbGFpbRIRCglyZW1haW5pbmcYAiABKA0imAMKE1VwZGF0ZVJlY29yZFJlcXVlc3QSDAoEbmFtZRgBIAEoCRIwCgpub3RfYmVmb3JlGAIgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcEgAEjIKDW5vdF9iZWZvcmVfaW4YAyABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb25IABIyChB1bnNldF9ub3RfYmVmb3JlGAQgASgLMhYuZ29vZ2xlLnByb3RvYnVmLkVtcHR5SAASFwoNYXR0ZW1wdHNfbGVmdBgFIAEoDUgBEjUKE3Vuc2V0X2F0dGVtcHRzX2xlZnQYBiABKAsyFi5nb29nbGUucHJvdG9idWYuRW1wdHlIARITCgZzdGF0dXMYByABKAlIAogBARIdChBleHBlY3RlZF92ZXJzaW9uGAggASgESAOIAQESDgoGcmVhc29uGAkgASgJQhAKDm5ld19ub3RfYmVmb3JlQhMKEW5ld19hdHRlbXB0c19sZWZ0QgkKB19zdGF0dXNCEwoRX2V4cGVjdGVkX3ZlcnNpb24iPgoUVXBkYXRlUmVjb3JkUmVzcG9uc2USJgoGcmVjb3JkGAEgASgLMhYucm93bG9jay52MS5Mb2NrUmVjb3JkImcKE0RlbGV0ZVJlY29yZFJlcXVlc3QSDAoEbmFtZRgBIAEoCRIdChBleHBlY3RlZF92ZXJzaW9uGAIgASgESACIAQESDgoGcmVhc29uGAMgASgJQhMKEV9leHBlY3RlZF92ZXJzaW9uIicKFERlbGV0ZVJlY29yZFJlc3BvbnNlEg8KB2RlbGV0ZWQYASABKAgi6AMKDkNhcHR1cmVSZXF1ZXN0EhAKBnByZWZpeBgBIAEoCUgAEiYKBW5hbWVzGAIgASgLMhUucm93bG9jay52MS5Mb2NrTmFtZXNIABISCgptYXhfbGVhc2VzGAMgASgNEhEKCWlmX3N0YXR1cxgEIAMoCRImCgN0dGwYBSABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SEgoKcmVxdWVzdF9pZBgGIAEoCRINCgVvd25lchgHIAEoCRI2CgZsYWJlbHMYCCADKAsyJi5yb3dsb2NrLnYxLkNhcHR1cmVSZXF1ZXN0LkxhYmVsc0VudHJ5EisKCG1heF93YWl0GAkgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEi8KDG1pbl9pbnRlcnZhbBgKIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhItCgpsb2NrX2RlbGF5GAsgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uEhsKDnN0YXR1c19pZl9sb3N0GAwgASgJSAGIAQEaLQoLTGFiZWxzRW50cnkSCwoDa2V5GAEgASgJEg0KBXZhbHVlGAIgASgJOgI4AUIGCgRmcm9tQhEKD19zdGF0dXNfaWZfbG9zdCIaCglMb2NrTmFtZXMSDQoFbmFtZXMYASADKAkieQoPQ2FwdHVyZVJlc3BvbnNlEiEKBmxlYXNlcxgBIAMoCzIRLnJvd2xvY2sudjEuTGVhc2USLgoLcmV0cnlfYWZ0ZXIYAiABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SEwoLaXNfcmVwZWF0ZWQYAyABKAgidwoOU2Vzc2lvblJlcXVlc3QSJQoEb3BlbhgBIAEoCzIXLnJvd2xvY2sudjEuU2Vzc2lvbk9wZW4SLAoIY29tbWFuZHMYAiADKAsyGi5yb3dsb2NrLnYxLlNlc3Npb25Db21tYW5kEhAKCHJlY2VpdmVkGAMgASgEIoABCgtTZXNzaW9uT3BlbhINCgVvd25lchgBIAEoCRIzCgZsYWJlbHMYAiADKAsyIy5yb3dsb2NrLnYxLlNlc3Npb25PcGVuLkxhYmVsc0VudHJ5Gi0KC0xhYmVsc0VudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAEi9AcKDlNlc3Npb25Db21tYW5kEgwKBGNhbGwYASABKAQSKgoHdGltZW91dBgCIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhITCgt0cmFjZXBhcmVudBgVIAEoCRItCgdhY3F1aXJlGAMgASgLMhoucm93bG9jay52MS5BY3F1aXJlUmVxdWVzdEgAEjcKDXdhaXRfaW5fcXVldWUYBCABKAsyHi5yb3dsb2NrLnYxLldhaXRJblF1ZXVlUmVxdWVzdEgAEikKBXJlbmV3GAUgASgLMhgucm93bG9jay52MS5SZW5ld1JlcXVlc3RIABIvCgxyZW5ld19sZWFzZXMYBiABKAsyFy5yb3dsb2NrLnYxLlJlbmV3TGVhc2VzSAASLQoHcmVsZWFzZRgHIAEoCzIaLnJvd2xvY2sudjEuUmVsZWFzZVJlcXVlc3RIABIwCglzZXRfbGltaXQYCCABKAsyGy5yb3dsb2NrLnYxLlNldExpbWl0UmVxdWVzdEgAEi4KCGdldF9sb2NrGAkgASgLMhoucm93bG9jay52MS5HZXRMb2NrUmVxdWVzdEgAEjIKCmxpc3RfbG9ja3MYCiABKAsyHC5yb3dsb2NrLnYxLkxpc3RMb2Nrc1JlcXVlc3RIABI0CgtsaXN0X2xpbWl0cxgLIAEoCzIdLnJvd2xvY2sudjEuTGlzdExpbWl0c1JlcXVlc3RIABI4Cg1mb3JjZV9yZWxlYXNlGAwgASgLMh8ucm93bG9jay52MS5Gb3JjZVJlbGVhc2VSZXF1ZXN0SAASNAoLd2F0Y2hfbG9ja3MYESABKAsyHS5yb3dsb2NrLnYxLldhdGNoTG9ja3NSZXF1ZXN0SAASEAoGY2FuY2VsGA0gASgESAASOAoNdXBkYXRlX3JlY29yZBgOIAEoCzIfLnJvd2xvY2sudjEuVXBkYXRlUmVjb3JkUmVxdWVzdEgAEjgKDWRlbGV0ZV9yZWNvcmQYDyABKAsyHy5yb3dsb2NrLnYxLkRlbGV0ZVJlY29yZFJlcXVlc3RIABItCgdjYXB0dXJlGBAgASgLMhoucm93bG9jay52MS5DYXB0dXJlUmVxdWVzdEgAEjQKC2xpc3RfY2xhaW1zGBIgASgLMh0ucm93bG9jay52MS5MaXN0Q2xhaW1zUmVxdWVzdEgAEjYKDGxpc3RfY2hhbmdlcxgTIAEoCzIeLnJvd2xvY2sudjEuTGlzdENoYW5nZXNSZXF1ZXN0SAASNgoMZXhwbGFpbl93YWl0GBQgASgLMh4ucm93bG9jay52MS5FeHBsYWluV2FpdFJlcXVlc3RIAEIJCgdjb21tYW5kIjcKC1JlbmV3TGVhc2VzEigKBmxlYXNlcxgBIAMoCzIYLnJvd2xvY2sudjEuUmVuZXdSZXF1ZXN0IjkKDVJlbmV3ZWRMZWFzZXMSKAoGbGVhc2VzGAEgAygLMhgucm93bG9jay52MS5SZW5ld2VkTGVhc2UiYgoMUmVuZXdlZExlYXNlEiIKBWxlYXNlGAEgASgLMhEucm93bG9jay52MS5MZWFzZUgAEiMKBWVycm9yGAIgASgLMhIuZ29vZ2xlLnJwYy5TdGF0dXNIAEIJCgdvdXRjb21lItYBCg9TZXNzaW9uUmVzcG9uc2USKQoGb3BlbmVkGAEgASgLMhkucm93bG9jay52MS5TZXNzaW9uT3BlbmVkEioKB3Jlc3VsdHMYAiADKAsyGS5yb3dsb2NrLnYxLlNlc3Npb25SZXN1bHQSDQoFaGVhcmQYAyABKAQSIwoEbG9zdBgEIAMoCzIVLnJvd2xvY2sudjEuTG9zdExlYXNlEiQKCWNvbmZpcm1lZBgFIAMoCzIRLnJvd2xvY2sudjEuTGVhc2USEgoKZ29pbmdfYXdheRgGIAEoCCL8AQoNU2Vzc2lvbk9wZW5lZBIPCgdyZXBsaWNhGAEgASgJEjUKEmhlYXJ0YmVhdF9pbnRlcnZhbBgCIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIuCgtzaWxlbmNlX21heBgDIAEoCzIZLmdvb2dsZS5wcm90b2J1Zi5EdXJhdGlvbhIvCgxncmFjZV9wZXJpb2QYBCABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SEQoJd2FpdHNfbWF4GAUgASgNEhQKDGNvbW1hbmRzX21heBgGIAEoDRIZChFtZXNzYWdlX2J5dGVzX21heBgHIAEoDSL+BwoNU2Vzc2lvblJlc3VsdBIMCgRjYWxsGAEgASgEEi4KB2FjcXVpcmUYAiABKAsyGy5yb3dsb2NrLnYxLkFjcXVpcmVSZXNwb25zZUgAEjgKDXdhaXRfaW5fcXVldWUYAyABKAsyHy5yb3dsb2NrLnYxLldhaXRJblF1ZXVlUmVzcG9uc2VIABIqCgVyZW5ldxgEIAEoCzIZLnJvd2xvY2sudjEuUmVuZXdSZXNwb25zZUgAEjEKDHJlbmV3X2xlYXNlcxgFIAEoCzIZLnJvd2xvY2sudjEuUmVuZXdlZExlYXNlc0gAEi4KB3JlbGVhc2UYBiABKAsyGy5yb3dsb2NrLnYxLlJlbGVhc2VSZXNwb25zZUgAEjEKCXNldF9saW1pdBgHIAEoCzIcLnJvd2xvY2sudjEuU2V0TGltaXRSZXNwb25zZUgAEi8KCGdldF9sb2NrGAggASgLMhsucm93bG9jay52MS5HZXRMb2NrUmVzcG9uc2VIABIzCgpsaXN0X2xvY2tzGAkgASgLMh0ucm93bG9jay52MS5MaXN0TG9ja3NSZXNwb25zZUgAEjUKC2xpc3RfbGltaXRzGAogASgLMh4ucm93bG9jay52MS5MaXN0TGltaXRzUmVzcG9uc2VIABI5Cg1mb3JjZV9yZWxlYXNlGAsgASgLMiAucm93bG9jay52MS5Gb3JjZVJlbGVhc2VSZXNwb25zZUgAEjUKC3dhdGNoX2xvY2tzGBEgASgLMh4ucm93bG9jay52MS5XYXRjaExvY2tzUmVzcG9uc2VIABIjCgVlcnJvchgMIAEoCzISLmdvb2dsZS5ycGMuU3RhdHVzSAASJgoIcmVqZWN0ZWQYDSABKAsyEi5nb29nbGUucnBjLlN0YXR1c0gAEjkKDXVwZGF0ZV9yZWNvcmQYDiABKAsyIC5yb3dsb2NrLnYxLlVwZGF0ZVJlY29yZFJlc3BvbnNlSAASOQoNZGVsZXRlX3JlY29yZBgPIAEoCzIgLnJvd2xvY2sudjEuRGVsZXRlUmVjb3JkUmVzcG9uc2VIABIuCgdjYXB0dXJlGBAgASgLMhsucm93bG9jay52MS5DYXB0dXJlUmVzcG9uc2VIABI1CgtsaXN0X2NsYWltcxgSIAEoCzIeLnJvd2xvY2sudjEuTGlzdENsYWltc1Jlc3BvbnNlSAASNwoMbGlzdF9jaGFuZ2VzGBMgASgLMh8ucm93bG9jay52MS5MaXN0Q2hhbmdlc1Jlc3BvbnNlSAASNwoMZXhwbGFpbl93YWl0GBQgASgLMh8ucm93bG9jay52MS5FeHBsYWluV2FpdFJlc3BvbnNlSABCCAoGcmVzdWx0IlsKCUxvc3RMZWFzZRIQCghsZWFzZV9pZBgBIAEoCRIRCglsb2NrX25hbWUYAiABKAkSKQoGcmVhc29uGAMgASgOMhkucm93bG9jay52MS5SZWZ1c2FsUmVhc29uKnYKCUxpc3RPcmRlchIaChZMSVNUX09SREVSX1VOU1BFQ0lGSUVEEAASEwoPTElTVF9PUkRFUl9OQU1FEAESGwoXTElTVF9PUkRFUl9MT05HRVNUX1dBSVQQAhIbChdMSVNUX09SREVSX01PU1RfV0FJVEVSUxADMogKCgtMb2NrU2VydmljZRJCCgdBY3F1aXJlEhoucm93bG9jay52MS5BY3F1aXJlUmVxdWVzdBobLnJvd2xvY2sudjEuQWNxdWlyZVJlc3BvbnNlElAKC1dhaXRJblF1ZXVlEh4ucm93bG9jay52MS5XYWl0SW5RdWV1ZVJlcXVlc3QaHy5yb3dsb2NrLnYxLldhaXRJblF1ZXVlUmVzcG9uc2UwARI8CgVSZW5ldxIYLnJvd2xvY2sudjEuUmVuZXdSZXF1ZXN0Ghkucm93bG9jay52MS5SZW5ld1Jlc3BvbnNlEkIKB1JlbGVhc2USGi5yb3dsb2NrLnYxLlJlbGVhc2VSZXF1ZXN0Ghsucm93bG9jay52MS5SZWxlYXNlUmVzcG9uc2USRQoIU2V0TGltaXQSGy5yb3dsb2NrLnYxLlNldExpbWl0UmVxdWVzdBocLnJvd2xvY2sudjEuU2V0TGltaXRSZXNwb25zZRJCCgdHZXRMb2NrEhoucm93bG9jay52MS5HZXRMb2NrUmVxdWVzdBobLnJvd2xvY2sudjEuR2V0TG9ja1Jlc3BvbnNlEkgKCUxpc3RMb2NrcxIcLnJvd2xvY2sudjEuTGlzdExvY2tzUmVxdWVzdBodLnJvd2xvY2sudjEuTGlzdExvY2tzUmVzcG9uc2USSwoKTGlzdExpbWl0cxIdLnJvd2xvY2sudjEuTGlzdExpbWl0c1JlcXVlc3QaHi5yb3dsb2NrLnYxLkxpc3RMaW1pdHNSZXNwb25zZRJLCgpMaXN0Q2xhaW1zEh0ucm93bG9jay52MS5MaXN0Q2xhaW1zUmVxdWVzdBoeLnJvd2xvY2sudjEuTGlzdENsYWltc1Jlc3BvbnNlEk4KC0xpc3RDaGFuZ2VzEh4ucm93bG9jay52MS5MaXN0Q2hhbmdlc1JlcXVlc3QaHy5yb3dsb2NrLnYxLkxpc3RDaGFuZ2VzUmVzcG9uc2USTgoLRXhwbGFpbldhaXQSHi5yb3dsb2NrLnYxLkV4cGxhaW5XYWl0UmVxdWVzdBofLnJvd2xvY2sudjEuRXhwbGFpbldhaXRSZXNwb25zZRJNCgpXYXRjaExvY2tzEh0ucm93bG9jay52MS5XYXRjaExvY2tzUmVxdWVzdBoeLnJvd2xvY2sudjEuV2F0Y2hMb2Nrc1Jlc3BvbnNlMAESUQoMRm9yY2VSZWxlYXNlEh8ucm93bG9jay52MS5Gb3JjZVJlbGVhc2VSZXF1ZXN0GiAucm93bG9jay52MS5Gb3JjZVJlbGVhc2VSZXNwb25zZRJRCgxVcGRhdGVSZWNvcmQSHy5yb3dsb2NrLnYxLlVwZGF0ZVJlY29yZFJlcXVlc3QaIC5yb3dsb2NrLnYxLlVwZGF0ZVJlY29yZFJlc3BvbnNlEkIKB0NhcHR1cmUSGi5yb3dsb2NrLnYxLkNhcHR1cmVSZXF1ZXN0Ghsucm93bG9jay52MS5DYXB0dXJlUmVzcG9uc2USUQoMRGVsZXRlUmVjb3JkEh8ucm93bG9jay52MS5EZWxldGVSZWNvcmRSZXF1ZXN0GiAucm93bG9jay52MS5EZWxldGVSZWNvcmRSZXNwb25zZRJGCgdTZXNzaW9uEhoucm93bG9jay52MS5TZXNzaW9uUmVxdWVzdBobLnJvd2xvY2sudjEuU2Vzc2lvblJlc3BvbnNlKAEwAUKiAQoKcm93bG9jay52MUIQTG9ja1NlcnZpY2VQcm90b1ABWjlnaXRodWIuY29tL3Jvd2xvY2svcm93bG9jay9jbGllbnRzL2dvL3Jvd2xvY2t2MTtyb3dsb2NrdjGiAgNSTEuqAgpSb3dsb2NrLlYxygIKUm93bG9ja1xWMeICFlJvd2xvY2tcVjFcR1BCTWV0YWRhdGHqAgtSb3dsb2NrOjpWMWIGcHJvdG8z", [file_google_protobuf_duration, file_google_protobuf_empty, file_google_protobuf_timestamp, file_google_rpc_status, file_rowlock_v1_lock]);

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
 * Describes the message rowlock.v1.UpdateRecordRequest.
 * Use `create(UpdateRecordRequestSchema)` to create a new message.
 */
export const UpdateRecordRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 28);

/**
 * Describes the message rowlock.v1.UpdateRecordResponse.
 * Use `create(UpdateRecordResponseSchema)` to create a new message.
 */
export const UpdateRecordResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 29);

/**
 * Describes the message rowlock.v1.DeleteRecordRequest.
 * Use `create(DeleteRecordRequestSchema)` to create a new message.
 */
export const DeleteRecordRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 30);

/**
 * Describes the message rowlock.v1.DeleteRecordResponse.
 * Use `create(DeleteRecordResponseSchema)` to create a new message.
 */
export const DeleteRecordResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 31);

/**
 * Describes the message rowlock.v1.CaptureRequest.
 * Use `create(CaptureRequestSchema)` to create a new message.
 */
export const CaptureRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 32);

/**
 * Describes the message rowlock.v1.LockNames.
 * Use `create(LockNamesSchema)` to create a new message.
 */
export const LockNamesSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 33);

/**
 * Describes the message rowlock.v1.CaptureResponse.
 * Use `create(CaptureResponseSchema)` to create a new message.
 */
export const CaptureResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 34);

/**
 * Describes the message rowlock.v1.SessionRequest.
 * Use `create(SessionRequestSchema)` to create a new message.
 */
export const SessionRequestSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 35);

/**
 * Describes the message rowlock.v1.SessionOpen.
 * Use `create(SessionOpenSchema)` to create a new message.
 */
export const SessionOpenSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 36);

/**
 * Describes the message rowlock.v1.SessionCommand.
 * Use `create(SessionCommandSchema)` to create a new message.
 */
export const SessionCommandSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 37);

/**
 * Describes the message rowlock.v1.RenewLeases.
 * Use `create(RenewLeasesSchema)` to create a new message.
 */
export const RenewLeasesSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 38);

/**
 * Describes the message rowlock.v1.RenewedLeases.
 * Use `create(RenewedLeasesSchema)` to create a new message.
 */
export const RenewedLeasesSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 39);

/**
 * Describes the message rowlock.v1.RenewedLease.
 * Use `create(RenewedLeaseSchema)` to create a new message.
 */
export const RenewedLeaseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 40);

/**
 * Describes the message rowlock.v1.SessionResponse.
 * Use `create(SessionResponseSchema)` to create a new message.
 */
export const SessionResponseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 41);

/**
 * Describes the message rowlock.v1.SessionOpened.
 * Use `create(SessionOpenedSchema)` to create a new message.
 */
export const SessionOpenedSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 42);

/**
 * Describes the message rowlock.v1.SessionResult.
 * Use `create(SessionResultSchema)` to create a new message.
 */
export const SessionResultSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 43);

/**
 * Describes the message rowlock.v1.LostLease.
 * Use `create(LostLeaseSchema)` to create a new message.
 */
export const LostLeaseSchema = /*@__PURE__*/
  messageDesc(file_rowlock_v1_lock_service, 44);

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

