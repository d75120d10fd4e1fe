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

// Code generated by protoc-gen-go-grpc. DO NOT EDIT.
// versions:
// - protoc-gen-go-grpc v1.6.1
// - protoc             (unknown)
// source: rowlock/v1/lock_service.proto

package rowlockv1

import (
	context "context"
	grpc "google.golang.org/grpc"
	codes "google.golang.org/grpc/codes"
	status "google.golang.org/grpc/status"
)

// This is a compile-time assertion to ensure that this generated file
// is compatible with the grpc package it is being compiled against.
// Requires gRPC-Go v1.64.0 or later.
const _ = grpc.SupportPackageIsVersion9

const (
	LockService_Acquire_FullMethodName      = "/rowlock.v1.LockService/Acquire"
	LockService_WaitInQueue_FullMethodName  = "/rowlock.v1.LockService/WaitInQueue"
	LockService_Renew_FullMethodName        = "/rowlock.v1.LockService/Renew"
	LockService_Release_FullMethodName      = "/rowlock.v1.LockService/Release"
	LockService_SetLimit_FullMethodName     = "/rowlock.v1.LockService/SetLimit"
	LockService_GetLock_FullMethodName      = "/rowlock.v1.LockService/GetLock"
	LockService_ListLocks_FullMethodName    = "/rowlock.v1.LockService/ListLocks"
	LockService_ListLimits_FullMethodName   = "/rowlock.v1.LockService/ListLimits"
	LockService_ListClaims_FullMethodName   = "/rowlock.v1.LockService/ListClaims"
	LockService_ListChanges_FullMethodName  = "/rowlock.v1.LockService/ListChanges"
	LockService_ExplainWait_FullMethodName  = "/rowlock.v1.LockService/ExplainWait"
	LockService_WatchLocks_FullMethodName   = "/rowlock.v1.LockService/WatchLocks"
	LockService_ForceRelease_FullMethodName = "/rowlock.v1.LockService/ForceRelease"
	LockService_UpdateRecord_FullMethodName = "/rowlock.v1.LockService/UpdateRecord"
	LockService_Capture_FullMethodName      = "/rowlock.v1.LockService/Capture"
	LockService_DeleteRecord_FullMethodName = "/rowlock.v1.LockService/DeleteRecord"
	LockService_Session_FullMethodName      = "/rowlock.v1.LockService/Session"
)

// LockServiceClient is the client API for LockService service.
//
// For semantics around ctx use and closing/ending streaming RPCs, please refer to https://pkg.go.dev/google.golang.org/grpc/?tab=doc#ClientConn.NewStream.
//
// Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
// first-come-first-served queues.
type LockServiceClient interface {
	// Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
	// decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
	Acquire(ctx context.Context, in *AcquireRequest, opts ...grpc.CallOption) (*AcquireResponse, error)
	// Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
	// another one when `ahead` or `permits_ahead` has changed, and finally `granted` or `ended`, which closes the stream.
	// Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
	// the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
	// get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
	// get its ticket before that.
	WaitInQueue(ctx context.Context, in *WaitInQueueRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[WaitInQueueResponse], error)
	// Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST after the lease has ended, even if nobody took the
	// lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
	Renew(ctx context.Context, in *RenewRequest, opts ...grpc.CallOption) (*RenewResponse, error)
	// Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
	// repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
	// lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
	// these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
	Release(ctx context.Context, in *ReleaseRequest, opts ...grpc.CallOption) (*ReleaseResponse, error)
	// Sets the limit for a name or a pattern to an absolute value. A higher limit grants waiters in the same transaction
	// (for a pattern, at the first 500 locks with waiters; at the others in further transactions before the answer). A
	// lower limit revokes nothing: the lock drains. If another transaction holds the rows of a lock, its waiters are
	// granted when the rows are free. A call that is repeated after a lost answer sets the limit again, over what others
	// have set since. With expected_version, the repeated call fails as VERSION_MISMATCH instead, with the version that
	// the first call made. See OUTCOME_UNKNOWN above.
	SetLimit(ctx context.Context, in *SetLimitRequest, opts ...grpc.CallOption) (*SetLimitResponse, error)
	// Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
	// deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
	// OVERLOADED if the server has too many reads for display.
	GetLock(ctx context.Context, in *GetLockRequest, opts ...grpc.CallOption) (*GetLockResponse, error)
	// Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
	// A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
	ListLocks(ctx context.Context, in *ListLocksRequest, opts ...grpc.CallOption) (*ListLocksResponse, error)
	// Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
	// unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
	ListLimits(ctx context.Context, in *ListLimitsRequest, opts ...grpc.CallOption) (*ListLimitsResponse, error)
	// Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
	// in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the
	// times when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
	// retention time. A page ends early if the server has searched 10,000 ended claims for it: then it has a token and
	// `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
	// for GetLock.
	ListClaims(ctx context.Context, in *ListClaimsRequest, opts ...grpc.CallOption) (*ListClaimsResponse, error)
	// Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
	// keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
	// OVERLOADED as for GetLock.
	ListChanges(ctx context.Context, in *ListChangesRequest, opts ...grpc.CallOption) (*ListChangesResponse, error)
	// Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
	// read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
	ExplainWait(ctx context.Context, in *ExplainWaitRequest, opts ...grpc.CallOption) (*ExplainWaitResponse, error)
	// Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
	// shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
	// sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
	// s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
	//
	// The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
	// behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
	// `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
	// the server stops: then watch again through another server.
	//
	// A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps 100 watches of
	// 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
	// session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or one that was open before. Watch again
	// later, or watch a longer prefix.
	WatchLocks(ctx context.Context, in *WatchLocksRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[WatchLocksResponse], error)
	// Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
	// The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
	// a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
	// UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
	ForceRelease(ctx context.Context, in *ForceReleaseRequest, opts ...grpc.CallOption) (*ForceReleaseResponse, error)
	// Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
	// that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
	// not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
	// after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
	// call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
	// since. See OUTCOME_UNKNOWN above.
	UpdateRecord(ctx context.Context, in *UpdateRecordRequest, opts ...grpc.CallOption) (*UpdateRecordResponse, error)
	// Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
	// the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
	//
	// A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
	// call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
	// of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
	// leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
	//
	// The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
	// the prefix, but not with the number of locks.
	Capture(ctx context.Context, in *CaptureRequest, opts ...grpc.CallOption) (*CaptureResponse, error)
	// Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
	// its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
	// or waits for it. See OUTCOME_UNKNOWN above.
	DeleteRecord(ctx context.Context, in *DeleteRecordRequest, opts ...grpc.CallOption) (*DeleteRecordResponse, error)
	// Carries all calls of a client over one stream: any number of commands in each request, any number of results in
	// each response. It costs much less than single calls if a client has many locks or waits. The verbs mean the same.
	//
	// Calls: the client numbers them from 1 on. A number is free again after the last result of its call. Results of one
	// call come in order; between calls no order is promised. In one request, the server handles `cancel`, `release` and
	// renewals first and listings last.
	//
	// Presence: the waiters of a session are present while it lives. The server must hear from the client at least once
	// per `silence_max`, if need be by an empty request, or the session ends. However it ends, places are kept for the
	// grace period and leases until their ends. Only a call that the client cannot return to (an Acquire that waits,
	// without a request_id) is given up. The client returns with a new session, through any server. Its first request may
	// name all that it had: `wait_in_queue` with the ticket_id, `renew` with the lease_id, `acquire` with the same
	// request_id.
	//
	// Acknowledgements: `received` says how far the client has read. A grant after a wait is provisional until the client
	// has acknowledged the response that brought it. Then the server confirms the lease and sends it once more with its
	// whole ttl. If the request has min_interval, lock_delay, status_if_lost or if_status, the client renews the lease
	// before it begins to work: see Lease.provisional.
	//
	// Deadlines: a response says how many requests the server had received when it made the response. The holder's own
	// deadline for any lease in it is (monotonic time before it sent the last of those requests) + ttl - margin, also
	// for a provisional lease.
	//
	// Ends: OK when the client has closed its side and the last call has ended. UNAVAILABLE SHUTTING_DOWN when the server
	// stops, when it has lost its database and another server has not, or when the connection is as old as it may be: then it sends `going_away`, takes no more
	// commands, ends waits with that error, and finishes its other calls. INVALID_ARGUMENT BAD_REQUEST if the first
	// request lacks `open`, or a later one has it. UNAVAILABLE SESSION_SILENT. RESOURCE_EXHAUSTED OVERLOADED with the
	// bound `results_unread` if the client does not read its results. UNAUTHENTICATED CREDENTIALS_EXPIRED when the
	// token of its first request expires, and PERMISSION_DENIED RIGHT_MISSING when the caller loses a right: leases and
	// places are kept, as with any end. Otherwise as any call, for example for a message that is too large.
	Session(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[SessionRequest, SessionResponse], error)
}

type lockServiceClient struct {
	cc grpc.ClientConnInterface
}

func NewLockServiceClient(cc grpc.ClientConnInterface) LockServiceClient {
	return &lockServiceClient{cc}
}

func (c *lockServiceClient) Acquire(ctx context.Context, in *AcquireRequest, opts ...grpc.CallOption) (*AcquireResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(AcquireResponse)
	err := c.cc.Invoke(ctx, LockService_Acquire_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) WaitInQueue(ctx context.Context, in *WaitInQueueRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[WaitInQueueResponse], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &LockService_ServiceDesc.Streams[0], LockService_WaitInQueue_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[WaitInQueueRequest, WaitInQueueResponse]{ClientStream: stream}
	if err := x.ClientStream.SendMsg(in); err != nil {
		return nil, err
	}
	if err := x.ClientStream.CloseSend(); err != nil {
		return nil, err
	}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type LockService_WaitInQueueClient = grpc.ServerStreamingClient[WaitInQueueResponse]

func (c *lockServiceClient) Renew(ctx context.Context, in *RenewRequest, opts ...grpc.CallOption) (*RenewResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(RenewResponse)
	err := c.cc.Invoke(ctx, LockService_Renew_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) Release(ctx context.Context, in *ReleaseRequest, opts ...grpc.CallOption) (*ReleaseResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ReleaseResponse)
	err := c.cc.Invoke(ctx, LockService_Release_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) SetLimit(ctx context.Context, in *SetLimitRequest, opts ...grpc.CallOption) (*SetLimitResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(SetLimitResponse)
	err := c.cc.Invoke(ctx, LockService_SetLimit_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) GetLock(ctx context.Context, in *GetLockRequest, opts ...grpc.CallOption) (*GetLockResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(GetLockResponse)
	err := c.cc.Invoke(ctx, LockService_GetLock_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) ListLocks(ctx context.Context, in *ListLocksRequest, opts ...grpc.CallOption) (*ListLocksResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ListLocksResponse)
	err := c.cc.Invoke(ctx, LockService_ListLocks_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) ListLimits(ctx context.Context, in *ListLimitsRequest, opts ...grpc.CallOption) (*ListLimitsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ListLimitsResponse)
	err := c.cc.Invoke(ctx, LockService_ListLimits_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) ListClaims(ctx context.Context, in *ListClaimsRequest, opts ...grpc.CallOption) (*ListClaimsResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ListClaimsResponse)
	err := c.cc.Invoke(ctx, LockService_ListClaims_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) ListChanges(ctx context.Context, in *ListChangesRequest, opts ...grpc.CallOption) (*ListChangesResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ListChangesResponse)
	err := c.cc.Invoke(ctx, LockService_ListChanges_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) ExplainWait(ctx context.Context, in *ExplainWaitRequest, opts ...grpc.CallOption) (*ExplainWaitResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ExplainWaitResponse)
	err := c.cc.Invoke(ctx, LockService_ExplainWait_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) WatchLocks(ctx context.Context, in *WatchLocksRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[WatchLocksResponse], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &LockService_ServiceDesc.Streams[1], LockService_WatchLocks_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[WatchLocksRequest, WatchLocksResponse]{ClientStream: stream}
	if err := x.ClientStream.SendMsg(in); err != nil {
		return nil, err
	}
	if err := x.ClientStream.CloseSend(); err != nil {
		return nil, err
	}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type LockService_WatchLocksClient = grpc.ServerStreamingClient[WatchLocksResponse]

func (c *lockServiceClient) ForceRelease(ctx context.Context, in *ForceReleaseRequest, opts ...grpc.CallOption) (*ForceReleaseResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(ForceReleaseResponse)
	err := c.cc.Invoke(ctx, LockService_ForceRelease_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) UpdateRecord(ctx context.Context, in *UpdateRecordRequest, opts ...grpc.CallOption) (*UpdateRecordResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(UpdateRecordResponse)
	err := c.cc.Invoke(ctx, LockService_UpdateRecord_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) Capture(ctx context.Context, in *CaptureRequest, opts ...grpc.CallOption) (*CaptureResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(CaptureResponse)
	err := c.cc.Invoke(ctx, LockService_Capture_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) DeleteRecord(ctx context.Context, in *DeleteRecordRequest, opts ...grpc.CallOption) (*DeleteRecordResponse, error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	out := new(DeleteRecordResponse)
	err := c.cc.Invoke(ctx, LockService_DeleteRecord_FullMethodName, in, out, cOpts...)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (c *lockServiceClient) Session(ctx context.Context, opts ...grpc.CallOption) (grpc.BidiStreamingClient[SessionRequest, SessionResponse], error) {
	cOpts := append([]grpc.CallOption{grpc.StaticMethod()}, opts...)
	stream, err := c.cc.NewStream(ctx, &LockService_ServiceDesc.Streams[2], LockService_Session_FullMethodName, cOpts...)
	if err != nil {
		return nil, err
	}
	x := &grpc.GenericClientStream[SessionRequest, SessionResponse]{ClientStream: stream}
	return x, nil
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type LockService_SessionClient = grpc.BidiStreamingClient[SessionRequest, SessionResponse]

// LockServiceServer is the server API for LockService service.
// All implementations must embed UnimplementedLockServiceServer
// for forward compatibility.
//
// Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
// first-come-first-served queues.
type LockServiceServer interface {
	// Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
	// decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
	Acquire(context.Context, *AcquireRequest) (*AcquireResponse, error)
	// Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
	// another one when `ahead` or `permits_ahead` has changed, and finally `granted` or `ended`, which closes the stream.
	// Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
	// the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
	// get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
	// get its ticket before that.
	WaitInQueue(*WaitInQueueRequest, grpc.ServerStreamingServer[WaitInQueueResponse]) error
	// Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST after the lease has ended, even if nobody took the
	// lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
	Renew(context.Context, *RenewRequest) (*RenewResponse, error)
	// Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
	// repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
	// lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
	// these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
	Release(context.Context, *ReleaseRequest) (*ReleaseResponse, error)
	// Sets the limit for a name or a pattern to an absolute value. A higher limit grants waiters in the same transaction
	// (for a pattern, at the first 500 locks with waiters; at the others in further transactions before the answer). A
	// lower limit revokes nothing: the lock drains. If another transaction holds the rows of a lock, its waiters are
	// granted when the rows are free. A call that is repeated after a lost answer sets the limit again, over what others
	// have set since. With expected_version, the repeated call fails as VERSION_MISMATCH instead, with the version that
	// the first call made. See OUTCOME_UNKNOWN above.
	SetLimit(context.Context, *SetLimitRequest) (*SetLimitResponse, error)
	// Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
	// deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
	// OVERLOADED if the server has too many reads for display.
	GetLock(context.Context, *GetLockRequest) (*GetLockResponse, error)
	// Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
	// A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
	ListLocks(context.Context, *ListLocksRequest) (*ListLocksResponse, error)
	// Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
	// unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
	ListLimits(context.Context, *ListLimitsRequest) (*ListLimitsResponse, error)
	// Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
	// in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the
	// times when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
	// retention time. A page ends early if the server has searched 10,000 ended claims for it: then it has a token and
	// `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
	// for GetLock.
	ListClaims(context.Context, *ListClaimsRequest) (*ListClaimsResponse, error)
	// Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
	// keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
	// OVERLOADED as for GetLock.
	ListChanges(context.Context, *ListChangesRequest) (*ListChangesResponse, error)
	// Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
	// read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
	ExplainWait(context.Context, *ExplainWaitRequest) (*ExplainWaitResponse, error)
	// Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
	// shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
	// sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
	// s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
	//
	// The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
	// behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
	// `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
	// the server stops: then watch again through another server.
	//
	// A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps 100 watches of
	// 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
	// session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or one that was open before. Watch again
	// later, or watch a longer prefix.
	WatchLocks(*WatchLocksRequest, grpc.ServerStreamingServer[WatchLocksResponse]) error
	// Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
	// The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
	// a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
	// UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
	ForceRelease(context.Context, *ForceReleaseRequest) (*ForceReleaseResponse, error)
	// Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
	// that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
	// not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
	// after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
	// call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
	// since. See OUTCOME_UNKNOWN above.
	UpdateRecord(context.Context, *UpdateRecordRequest) (*UpdateRecordResponse, error)
	// Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
	// the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
	//
	// A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
	// call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
	// of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
	// leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
	//
	// The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
	// the prefix, but not with the number of locks.
	Capture(context.Context, *CaptureRequest) (*CaptureResponse, error)
	// Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
	// its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
	// or waits for it. See OUTCOME_UNKNOWN above.
	DeleteRecord(context.Context, *DeleteRecordRequest) (*DeleteRecordResponse, error)
	// Carries all calls of a client over one stream: any number of commands in each request, any number of results in
	// each response. It costs much less than single calls if a client has many locks or waits. The verbs mean the same.
	//
	// Calls: the client numbers them from 1 on. A number is free again after the last result of its call. Results of one
	// call come in order; between calls no order is promised. In one request, the server handles `cancel`, `release` and
	// renewals first and listings last.
	//
	// Presence: the waiters of a session are present while it lives. The server must hear from the client at least once
	// per `silence_max`, if need be by an empty request, or the session ends. However it ends, places are kept for the
	// grace period and leases until their ends. Only a call that the client cannot return to (an Acquire that waits,
	// without a request_id) is given up. The client returns with a new session, through any server. Its first request may
	// name all that it had: `wait_in_queue` with the ticket_id, `renew` with the lease_id, `acquire` with the same
	// request_id.
	//
	// Acknowledgements: `received` says how far the client has read. A grant after a wait is provisional until the client
	// has acknowledged the response that brought it. Then the server confirms the lease and sends it once more with its
	// whole ttl. If the request has min_interval, lock_delay, status_if_lost or if_status, the client renews the lease
	// before it begins to work: see Lease.provisional.
	//
	// Deadlines: a response says how many requests the server had received when it made the response. The holder's own
	// deadline for any lease in it is (monotonic time before it sent the last of those requests) + ttl - margin, also
	// for a provisional lease.
	//
	// Ends: OK when the client has closed its side and the last call has ended. UNAVAILABLE SHUTTING_DOWN when the server
	// stops, when it has lost its database and another server has not, or when the connection is as old as it may be: then it sends `going_away`, takes no more
	// commands, ends waits with that error, and finishes its other calls. INVALID_ARGUMENT BAD_REQUEST if the first
	// request lacks `open`, or a later one has it. UNAVAILABLE SESSION_SILENT. RESOURCE_EXHAUSTED OVERLOADED with the
	// bound `results_unread` if the client does not read its results. UNAUTHENTICATED CREDENTIALS_EXPIRED when the
	// token of its first request expires, and PERMISSION_DENIED RIGHT_MISSING when the caller loses a right: leases and
	// places are kept, as with any end. Otherwise as any call, for example for a message that is too large.
	Session(grpc.BidiStreamingServer[SessionRequest, SessionResponse]) error
	mustEmbedUnimplementedLockServiceServer()
}

// UnimplementedLockServiceServer must be embedded to have
// forward compatible implementations.
//
// NOTE: this should be embedded by value instead of pointer to avoid a nil
// pointer dereference when methods are called.
type UnimplementedLockServiceServer struct{}

func (UnimplementedLockServiceServer) Acquire(context.Context, *AcquireRequest) (*AcquireResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Acquire not implemented")
}
func (UnimplementedLockServiceServer) WaitInQueue(*WaitInQueueRequest, grpc.ServerStreamingServer[WaitInQueueResponse]) error {
	return status.Error(codes.Unimplemented, "method WaitInQueue not implemented")
}
func (UnimplementedLockServiceServer) Renew(context.Context, *RenewRequest) (*RenewResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Renew not implemented")
}
func (UnimplementedLockServiceServer) Release(context.Context, *ReleaseRequest) (*ReleaseResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Release not implemented")
}
func (UnimplementedLockServiceServer) SetLimit(context.Context, *SetLimitRequest) (*SetLimitResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method SetLimit not implemented")
}
func (UnimplementedLockServiceServer) GetLock(context.Context, *GetLockRequest) (*GetLockResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method GetLock not implemented")
}
func (UnimplementedLockServiceServer) ListLocks(context.Context, *ListLocksRequest) (*ListLocksResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ListLocks not implemented")
}
func (UnimplementedLockServiceServer) ListLimits(context.Context, *ListLimitsRequest) (*ListLimitsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ListLimits not implemented")
}
func (UnimplementedLockServiceServer) ListClaims(context.Context, *ListClaimsRequest) (*ListClaimsResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ListClaims not implemented")
}
func (UnimplementedLockServiceServer) ListChanges(context.Context, *ListChangesRequest) (*ListChangesResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ListChanges not implemented")
}
func (UnimplementedLockServiceServer) ExplainWait(context.Context, *ExplainWaitRequest) (*ExplainWaitResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ExplainWait not implemented")
}
func (UnimplementedLockServiceServer) WatchLocks(*WatchLocksRequest, grpc.ServerStreamingServer[WatchLocksResponse]) error {
	return status.Error(codes.Unimplemented, "method WatchLocks not implemented")
}
func (UnimplementedLockServiceServer) ForceRelease(context.Context, *ForceReleaseRequest) (*ForceReleaseResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method ForceRelease not implemented")
}
func (UnimplementedLockServiceServer) UpdateRecord(context.Context, *UpdateRecordRequest) (*UpdateRecordResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method UpdateRecord not implemented")
}
func (UnimplementedLockServiceServer) Capture(context.Context, *CaptureRequest) (*CaptureResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method Capture not implemented")
}
func (UnimplementedLockServiceServer) DeleteRecord(context.Context, *DeleteRecordRequest) (*DeleteRecordResponse, error) {
	return nil, status.Error(codes.Unimplemented, "method DeleteRecord not implemented")
}
func (UnimplementedLockServiceServer) Session(grpc.BidiStreamingServer[SessionRequest, SessionResponse]) error {
	return status.Error(codes.Unimplemented, "method Session not implemented")
}
func (UnimplementedLockServiceServer) mustEmbedUnimplementedLockServiceServer() {}
func (UnimplementedLockServiceServer) testEmbeddedByValue()                     {}

// UnsafeLockServiceServer may be embedded to opt out of forward compatibility for this service.
// Use of this interface is not recommended, as added methods to LockServiceServer will
// result in compilation errors.
type UnsafeLockServiceServer interface {
	mustEmbedUnimplementedLockServiceServer()
}

func RegisterLockServiceServer(s grpc.ServiceRegistrar, srv LockServiceServer) {
	// If the following call panics, it indicates UnimplementedLockServiceServer was
	// embedded by pointer and is nil.  This will cause panics if an
	// unimplemented method is ever invoked, so we test this at initialization
	// time to prevent it from happening at runtime later due to I/O.
	if t, ok := srv.(interface{ testEmbeddedByValue() }); ok {
		t.testEmbeddedByValue()
	}
	s.RegisterService(&LockService_ServiceDesc, srv)
}

func _LockService_Acquire_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(AcquireRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).Acquire(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_Acquire_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).Acquire(ctx, req.(*AcquireRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_WaitInQueue_Handler(srv interface{}, stream grpc.ServerStream) error {
	m := new(WaitInQueueRequest)
	if err := stream.RecvMsg(m); err != nil {
		return err
	}
	return srv.(LockServiceServer).WaitInQueue(m, &grpc.GenericServerStream[WaitInQueueRequest, WaitInQueueResponse]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type LockService_WaitInQueueServer = grpc.ServerStreamingServer[WaitInQueueResponse]

func _LockService_Renew_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(RenewRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).Renew(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_Renew_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).Renew(ctx, req.(*RenewRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_Release_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ReleaseRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).Release(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_Release_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).Release(ctx, req.(*ReleaseRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_SetLimit_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(SetLimitRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).SetLimit(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_SetLimit_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).SetLimit(ctx, req.(*SetLimitRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_GetLock_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(GetLockRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).GetLock(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_GetLock_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).GetLock(ctx, req.(*GetLockRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_ListLocks_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ListLocksRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).ListLocks(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_ListLocks_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).ListLocks(ctx, req.(*ListLocksRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_ListLimits_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ListLimitsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).ListLimits(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_ListLimits_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).ListLimits(ctx, req.(*ListLimitsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_ListClaims_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ListClaimsRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).ListClaims(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_ListClaims_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).ListClaims(ctx, req.(*ListClaimsRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_ListChanges_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ListChangesRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).ListChanges(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_ListChanges_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).ListChanges(ctx, req.(*ListChangesRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_ExplainWait_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ExplainWaitRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).ExplainWait(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_ExplainWait_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).ExplainWait(ctx, req.(*ExplainWaitRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_WatchLocks_Handler(srv interface{}, stream grpc.ServerStream) error {
	m := new(WatchLocksRequest)
	if err := stream.RecvMsg(m); err != nil {
		return err
	}
	return srv.(LockServiceServer).WatchLocks(m, &grpc.GenericServerStream[WatchLocksRequest, WatchLocksResponse]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type LockService_WatchLocksServer = grpc.ServerStreamingServer[WatchLocksResponse]

func _LockService_ForceRelease_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(ForceReleaseRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).ForceRelease(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_ForceRelease_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).ForceRelease(ctx, req.(*ForceReleaseRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_UpdateRecord_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(UpdateRecordRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).UpdateRecord(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_UpdateRecord_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).UpdateRecord(ctx, req.(*UpdateRecordRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_Capture_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(CaptureRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).Capture(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_Capture_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).Capture(ctx, req.(*CaptureRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_DeleteRecord_Handler(srv interface{}, ctx context.Context, dec func(interface{}) error, interceptor grpc.UnaryServerInterceptor) (interface{}, error) {
	in := new(DeleteRecordRequest)
	if err := dec(in); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return srv.(LockServiceServer).DeleteRecord(ctx, in)
	}
	info := &grpc.UnaryServerInfo{
		Server:     srv,
		FullMethod: LockService_DeleteRecord_FullMethodName,
	}
	handler := func(ctx context.Context, req interface{}) (interface{}, error) {
		return srv.(LockServiceServer).DeleteRecord(ctx, req.(*DeleteRecordRequest))
	}
	return interceptor(ctx, in, info, handler)
}

func _LockService_Session_Handler(srv interface{}, stream grpc.ServerStream) error {
	return srv.(LockServiceServer).Session(&grpc.GenericServerStream[SessionRequest, SessionResponse]{ServerStream: stream})
}

// This type alias is provided for backwards compatibility with existing code that references the prior non-generic stream type by name.
type LockService_SessionServer = grpc.BidiStreamingServer[SessionRequest, SessionResponse]

// LockService_ServiceDesc is the grpc.ServiceDesc for LockService service.
// It's only intended for direct use with grpc.RegisterService,
// and not to be introspected or modified (even as a copy)
var LockService_ServiceDesc = grpc.ServiceDesc{
	ServiceName: "rowlock.v1.LockService",
	HandlerType: (*LockServiceServer)(nil),
	Methods: []grpc.MethodDesc{
		{
			MethodName: "Acquire",
			Handler:    _LockService_Acquire_Handler,
		},
		{
			MethodName: "Renew",
			Handler:    _LockService_Renew_Handler,
		},
		{
			MethodName: "Release",
			Handler:    _LockService_Release_Handler,
		},
		{
			MethodName: "SetLimit",
			Handler:    _LockService_SetLimit_Handler,
		},
		{
			MethodName: "GetLock",
			Handler:    _LockService_GetLock_Handler,
		},
		{
			MethodName: "ListLocks",
			Handler:    _LockService_ListLocks_Handler,
		},
		{
			MethodName: "ListLimits",
			Handler:    _LockService_ListLimits_Handler,
		},
		{
			MethodName: "ListClaims",
			Handler:    _LockService_ListClaims_Handler,
		},
		{
			MethodName: "ListChanges",
			Handler:    _LockService_ListChanges_Handler,
		},
		{
			MethodName: "ExplainWait",
			Handler:    _LockService_ExplainWait_Handler,
		},
		{
			MethodName: "ForceRelease",
			Handler:    _LockService_ForceRelease_Handler,
		},
		{
			MethodName: "UpdateRecord",
			Handler:    _LockService_UpdateRecord_Handler,
		},
		{
			MethodName: "Capture",
			Handler:    _LockService_Capture_Handler,
		},
		{
			MethodName: "DeleteRecord",
			Handler:    _LockService_DeleteRecord_Handler,
		},
	},
	Streams: []grpc.StreamDesc{
		{
			StreamName:    "WaitInQueue",
			Handler:       _LockService_WaitInQueue_Handler,
			ServerStreams: true,
		},
		{
			StreamName:    "WatchLocks",
			Handler:       _LockService_WatchLocks_Handler,
			ServerStreams: true,
		},
		{
			StreamName:    "Session",
			Handler:       _LockService_Session_Handler,
			ServerStreams: true,
			ClientStreams: true,
		},
	},
	Metadata: "rowlock/v1/lock_service.proto",
}
