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

// Code generated by protoc-gen-go. DO NOT EDIT.
// versions:
// 	protoc-gen-go v1.36.12
// 	protoc        (unknown)
// source: rowlock/v1/lock_service.proto

package rowlockv1

import (
	status "google.golang.org/genproto/googleapis/rpc/status"
	protoreflect "google.golang.org/protobuf/reflect/protoreflect"
	protoimpl "google.golang.org/protobuf/runtime/protoimpl"
	durationpb "google.golang.org/protobuf/types/known/durationpb"
	emptypb "google.golang.org/protobuf/types/known/emptypb"
	timestamppb "google.golang.org/protobuf/types/known/timestamppb"
	reflect "reflect"
	sync "sync"
	unsafe "unsafe"
)

const (
	// Verify that this generated code is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(20 - protoimpl.MinVersion)
	// Verify that runtime/protoimpl is sufficiently up-to-date.
	_ = protoimpl.EnforceVersion(protoimpl.MaxVersion - 20)
)

// The order of a listing.
type ListOrder int32

const (
	// Means LIST_ORDER_NAME.
	ListOrder_LIST_ORDER_UNSPECIFIED ListOrder = 0
	// By name, in byte order.
	ListOrder_LIST_ORDER_NAME ListOrder = 1
	// Locks with waiters, by the arrival of their first waiter, earliest first.
	ListOrder_LIST_ORDER_LONGEST_WAIT ListOrder = 2
	// Locks with waiters, the longest queue first.
	ListOrder_LIST_ORDER_MOST_WAITERS ListOrder = 3
)

// Enum value maps for ListOrder.
var (
	ListOrder_name = map[int32]string{
		0: "LIST_ORDER_UNSPECIFIED",
		1: "LIST_ORDER_NAME",
		2: "LIST_ORDER_LONGEST_WAIT",
		3: "LIST_ORDER_MOST_WAITERS",
	}
	ListOrder_value = map[string]int32{
		"LIST_ORDER_UNSPECIFIED":  0,
		"LIST_ORDER_NAME":         1,
		"LIST_ORDER_LONGEST_WAIT": 2,
		"LIST_ORDER_MOST_WAITERS": 3,
	}
)

func (x ListOrder) Enum() *ListOrder {
	p := new(ListOrder)
	*p = x
	return p
}

func (x ListOrder) String() string {
	return protoimpl.X.EnumStringOf(x.Descriptor(), protoreflect.EnumNumber(x))
}

func (ListOrder) Descriptor() protoreflect.EnumDescriptor {
	return file_rowlock_v1_lock_service_proto_enumTypes[0].Descriptor()
}

func (ListOrder) Type() protoreflect.EnumType {
	return &file_rowlock_v1_lock_service_proto_enumTypes[0]
}

func (x ListOrder) Number() protoreflect.EnumNumber {
	return protoreflect.EnumNumber(x)
}

// Deprecated: Use ListOrder.Descriptor instead.
func (ListOrder) EnumDescriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{0}
}

// What to acquire.
type AcquireRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock: 1 to 255 bytes, not beginning with NUL. It exists as soon as somebody names it.
	Name string `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	// The mode; unspecified means MODE_PERMIT.
	Mode Mode `protobuf:"varint,2,opt,name=mode,proto3,enum=rowlock.v1.Mode" json:"mode,omitempty"`
	// Permits to take, all or none; at most 1,000,000; 0 means 1. With MODE_SHARED and MODE_EXCLUSIVE: 0 or 1.
	Permits uint32 `protobuf:"varint,3,opt,name=permits,proto3" json:"permits,omitempty"`
	// Time to live from the grant, 1 s to 24 days; 30 s if unset. Not with no_expiry.
	Ttl *durationpb.Duration `protobuf:"bytes,4,opt,name=ttl,proto3" json:"ttl,omitempty"`
	// The lease has no end: it lasts until it is released or force-released.
	NoExpiry bool `protobuf:"varint,5,opt,name=no_expiry,json=noExpiry,proto3" json:"no_expiry,omitempty"`
	// The caller's own id for this request, up to 128 bytes, unique over all locks. The same id is always the same
	// claim, until the retention time after its end, so a repeated call cannot take the lock twice. If that claim has
	// ended, the answer is a refusal that says how it ended. Must not begin with NUL. If empty, the call is not safe to
	// repeat.
	RequestId string `protobuf:"bytes,6,opt,name=request_id,json=requestId,proto3" json:"request_id,omitempty"`
	// Who asks, for people who look at the lock; up to 255 bytes.
	Owner string `protobuf:"bytes,7,opt,name=owner,proto3" json:"owner,omitempty"`
	// What else they should see: at most 16 labels, keys of 1 to 63 bytes, values up to 255 bytes.
	Labels map[string]string `protobuf:"bytes,8,rep,name=labels,proto3" json:"labels,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	// What to do if the server cannot grant it at once; unspecified means WHEN_BUSY_REFUSE. In a WaitInQueueRequest leave
	// it unspecified; WHEN_BUSY_REFUSE is an error there.
	WhenBusy WhenBusy `protobuf:"varint,9,opt,name=when_busy,json=whenBusy,proto3,enum=rowlock.v1.WhenBusy" json:"when_busy,omitempty"`
	// The longest time to wait, 1 ms to 24 days; then the wait ends with TIMED_OUT. Unset: as long as there are signs of
	// life. Not with WHEN_BUSY_REFUSE.
	MaxWait *durationpb.Duration `protobuf:"bytes,10,opt,name=max_wait,json=maxWait,proto3" json:"max_wait,omitempty"`
	// When the lease is *released*, the next grant comes at granted_at + min_interval or later: "at most once an hour". 0
	// to 10 years (of 365.25 days). A lease that is lost does not set it, so that another holder can take over at once.
	// Not with no_expiry.
	MinInterval *durationpb.Duration `protobuf:"bytes,11,opt,name=min_interval,json=minInterval,proto3" json:"min_interval,omitempty"`
	// When a confirmed lease is *lost* (EXPIRED or FORCE_RELEASED), the server grants nothing for this long, 0 to 10
	// years: time for the lost holder's work to end. For a lease that was not confirmed, see Lease.provisional.
	LockDelay *durationpb.Duration `protobuf:"bytes,12,opt,name=lock_delay,json=lockDelay,proto3" json:"lock_delay,omitempty"`
	// The lock's status after a confirmed lease is lost, up to 63 bytes, so that a crash leaves no task "in progress" for
	// ever. "" is a status too; unset: the status stays.
	StatusIfLost *string `protobuf:"bytes,13,opt,name=status_if_lost,json=statusIfLost,proto3,oneof" json:"status_if_lost,omitempty"`
	// Grant only if the lock's status is one of these at the moment of the grant; at most 16, up to 63 bytes each. ""
	// also matches a lock without a record. Empty: any status.
	IfStatus      []string `protobuf:"bytes,14,rep,name=if_status,json=ifStatus,proto3" json:"if_status,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AcquireRequest) Reset() {
	*x = AcquireRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[0]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AcquireRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AcquireRequest) ProtoMessage() {}

func (x *AcquireRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[0]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AcquireRequest.ProtoReflect.Descriptor instead.
func (*AcquireRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{0}
}

func (x *AcquireRequest) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *AcquireRequest) GetMode() Mode {
	if x != nil {
		return x.Mode
	}
	return Mode_MODE_UNSPECIFIED
}

func (x *AcquireRequest) GetPermits() uint32 {
	if x != nil {
		return x.Permits
	}
	return 0
}

func (x *AcquireRequest) GetTtl() *durationpb.Duration {
	if x != nil {
		return x.Ttl
	}
	return nil
}

func (x *AcquireRequest) GetNoExpiry() bool {
	if x != nil {
		return x.NoExpiry
	}
	return false
}

func (x *AcquireRequest) GetRequestId() string {
	if x != nil {
		return x.RequestId
	}
	return ""
}

func (x *AcquireRequest) GetOwner() string {
	if x != nil {
		return x.Owner
	}
	return ""
}

func (x *AcquireRequest) GetLabels() map[string]string {
	if x != nil {
		return x.Labels
	}
	return nil
}

func (x *AcquireRequest) GetWhenBusy() WhenBusy {
	if x != nil {
		return x.WhenBusy
	}
	return WhenBusy_WHEN_BUSY_UNSPECIFIED
}

func (x *AcquireRequest) GetMaxWait() *durationpb.Duration {
	if x != nil {
		return x.MaxWait
	}
	return nil
}

func (x *AcquireRequest) GetMinInterval() *durationpb.Duration {
	if x != nil {
		return x.MinInterval
	}
	return nil
}

func (x *AcquireRequest) GetLockDelay() *durationpb.Duration {
	if x != nil {
		return x.LockDelay
	}
	return nil
}

func (x *AcquireRequest) GetStatusIfLost() string {
	if x != nil && x.StatusIfLost != nil {
		return *x.StatusIfLost
	}
	return ""
}

func (x *AcquireRequest) GetIfStatus() []string {
	if x != nil {
		return x.IfStatus
	}
	return nil
}

// The outcome.
type AcquireResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one is set.
	//
	// Types that are valid to be assigned to Outcome:
	//
	//	*AcquireResponse_Lease
	//	*AcquireResponse_Ticket
	//	*AcquireResponse_Refusal
	Outcome       isAcquireResponse_Outcome `protobuf_oneof:"outcome"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *AcquireResponse) Reset() {
	*x = AcquireResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[1]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *AcquireResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*AcquireResponse) ProtoMessage() {}

func (x *AcquireResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[1]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use AcquireResponse.ProtoReflect.Descriptor instead.
func (*AcquireResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{1}
}

func (x *AcquireResponse) GetOutcome() isAcquireResponse_Outcome {
	if x != nil {
		return x.Outcome
	}
	return nil
}

func (x *AcquireResponse) GetLease() *Lease {
	if x != nil {
		if x, ok := x.Outcome.(*AcquireResponse_Lease); ok {
			return x.Lease
		}
	}
	return nil
}

func (x *AcquireResponse) GetTicket() *Ticket {
	if x != nil {
		if x, ok := x.Outcome.(*AcquireResponse_Ticket); ok {
			return x.Ticket
		}
	}
	return nil
}

func (x *AcquireResponse) GetRefusal() *Refusal {
	if x != nil {
		if x, ok := x.Outcome.(*AcquireResponse_Refusal); ok {
			return x.Refusal
		}
	}
	return nil
}

type isAcquireResponse_Outcome interface {
	isAcquireResponse_Outcome()
}

type AcquireResponse_Lease struct {
	// Granted.
	Lease *Lease `protobuf:"bytes,1,opt,name=lease,proto3,oneof"`
}

type AcquireResponse_Ticket struct {
	// In the queue (WHEN_BUSY_ENQUEUE).
	Ticket *Ticket `protobuf:"bytes,2,opt,name=ticket,proto3,oneof"`
}

type AcquireResponse_Refusal struct {
	// Not granted.
	Refusal *Refusal `protobuf:"bytes,3,opt,name=refusal,proto3,oneof"`
}

func (*AcquireResponse_Lease) isAcquireResponse_Outcome() {}

func (*AcquireResponse_Ticket) isAcquireResponse_Outcome() {}

func (*AcquireResponse_Refusal) isAcquireResponse_Outcome() {}

// What to wait for.
type WaitInQueueRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one must be set.
	//
	// Types that are valid to be assigned to Target:
	//
	//	*WaitInQueueRequest_Acquire
	//	*WaitInQueueRequest_TicketId
	Target isWaitInQueueRequest_Target `protobuf_oneof:"target"`
	// The shortest time between two positions, 0 to 1 hour; 1 s if unset. Grants and ends are sent at once.
	MinUpdateInterval *durationpb.Duration `protobuf:"bytes,3,opt,name=min_update_interval,json=minUpdateInterval,proto3" json:"min_update_interval,omitempty"`
	unknownFields     protoimpl.UnknownFields
	sizeCache         protoimpl.SizeCache
}

func (x *WaitInQueueRequest) Reset() {
	*x = WaitInQueueRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[2]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *WaitInQueueRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*WaitInQueueRequest) ProtoMessage() {}

func (x *WaitInQueueRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[2]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use WaitInQueueRequest.ProtoReflect.Descriptor instead.
func (*WaitInQueueRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{2}
}

func (x *WaitInQueueRequest) GetTarget() isWaitInQueueRequest_Target {
	if x != nil {
		return x.Target
	}
	return nil
}

func (x *WaitInQueueRequest) GetAcquire() *AcquireRequest {
	if x != nil {
		if x, ok := x.Target.(*WaitInQueueRequest_Acquire); ok {
			return x.Acquire
		}
	}
	return nil
}

func (x *WaitInQueueRequest) GetTicketId() string {
	if x != nil {
		if x, ok := x.Target.(*WaitInQueueRequest_TicketId); ok {
			return x.TicketId
		}
	}
	return ""
}

func (x *WaitInQueueRequest) GetMinUpdateInterval() *durationpb.Duration {
	if x != nil {
		return x.MinUpdateInterval
	}
	return nil
}

type isWaitInQueueRequest_Target interface {
	isWaitInQueueRequest_Target()
}

type WaitInQueueRequest_Acquire struct {
	// A new request, which takes a place. Set a request_id, so that you can repeat the call if its first answer is
	// lost.
	Acquire *AcquireRequest `protobuf:"bytes,1,opt,name=acquire,proto3,oneof"`
}

type WaitInQueueRequest_TicketId struct {
	// A ticket from an Acquire or from an earlier stream.
	TicketId string `protobuf:"bytes,2,opt,name=ticket_id,json=ticketId,proto3,oneof"`
}

func (*WaitInQueueRequest_Acquire) isWaitInQueueRequest_Target() {}

func (*WaitInQueueRequest_TicketId) isWaitInQueueRequest_Target() {}

// One step of a wait.
type WaitInQueueResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one is set.
	//
	// Types that are valid to be assigned to Update:
	//
	//	*WaitInQueueResponse_Position
	//	*WaitInQueueResponse_Granted
	//	*WaitInQueueResponse_Ended
	Update        isWaitInQueueResponse_Update `protobuf_oneof:"update"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *WaitInQueueResponse) Reset() {
	*x = WaitInQueueResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[3]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *WaitInQueueResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*WaitInQueueResponse) ProtoMessage() {}

func (x *WaitInQueueResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[3]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use WaitInQueueResponse.ProtoReflect.Descriptor instead.
func (*WaitInQueueResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{3}
}

func (x *WaitInQueueResponse) GetUpdate() isWaitInQueueResponse_Update {
	if x != nil {
		return x.Update
	}
	return nil
}

func (x *WaitInQueueResponse) GetPosition() *Ticket {
	if x != nil {
		if x, ok := x.Update.(*WaitInQueueResponse_Position); ok {
			return x.Position
		}
	}
	return nil
}

func (x *WaitInQueueResponse) GetGranted() *Lease {
	if x != nil {
		if x, ok := x.Update.(*WaitInQueueResponse_Granted); ok {
			return x.Granted
		}
	}
	return nil
}

func (x *WaitInQueueResponse) GetEnded() *Refusal {
	if x != nil {
		if x, ok := x.Update.(*WaitInQueueResponse_Ended); ok {
			return x.Ended
		}
	}
	return nil
}

type isWaitInQueueResponse_Update interface {
	isWaitInQueueResponse_Update()
}

type WaitInQueueResponse_Position struct {
	// The current place.
	Position *Ticket `protobuf:"bytes,1,opt,name=position,proto3,oneof"`
}

type WaitInQueueResponse_Granted struct {
	// The lease; the last message. After a wait it is provisional: confirm it with one Renew, which gives it its whole
	// ttl.
	Granted *Lease `protobuf:"bytes,2,opt,name=granted,proto3,oneof"`
}

type WaitInQueueResponse_Ended struct {
	// The wait ended without a lease; the last message.
	Ended *Refusal `protobuf:"bytes,3,opt,name=ended,proto3,oneof"`
}

func (*WaitInQueueResponse_Position) isWaitInQueueResponse_Update() {}

func (*WaitInQueueResponse_Granted) isWaitInQueueResponse_Update() {}

func (*WaitInQueueResponse_Ended) isWaitInQueueResponse_Update() {}

// Which lease to renew.
type RenewRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lease.
	LeaseId string `protobuf:"bytes,1,opt,name=lease_id,json=leaseId,proto3" json:"lease_id,omitempty"`
	// Time to live from now, 1 s to 24 days. Unset: the last ttl that an Acquire or Renew of this lease asked for (a
	// lease without end stays without end).
	Ttl           *durationpb.Duration `protobuf:"bytes,2,opt,name=ttl,proto3" json:"ttl,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *RenewRequest) Reset() {
	*x = RenewRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[4]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *RenewRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*RenewRequest) ProtoMessage() {}

func (x *RenewRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[4]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use RenewRequest.ProtoReflect.Descriptor instead.
func (*RenewRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{4}
}

func (x *RenewRequest) GetLeaseId() string {
	if x != nil {
		return x.LeaseId
	}
	return ""
}

func (x *RenewRequest) GetTtl() *durationpb.Duration {
	if x != nil {
		return x.Ttl
	}
	return nil
}

// The renewed lease.
type RenewResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// With its new remaining time.
	Lease         *Lease `protobuf:"bytes,1,opt,name=lease,proto3" json:"lease,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *RenewResponse) Reset() {
	*x = RenewResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[5]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *RenewResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*RenewResponse) ProtoMessage() {}

func (x *RenewResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[5]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use RenewResponse.ProtoReflect.Descriptor instead.
func (*RenewResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{5}
}

func (x *RenewResponse) GetLease() *Lease {
	if x != nil {
		return x.Lease
	}
	return nil
}

// What to end.
type ReleaseRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lease, or a ticket_id, whose claim then leaves the queue.
	LeaseId string `protobuf:"bytes,1,opt,name=lease_id,json=leaseId,proto3" json:"lease_id,omitempty"`
	// The next grant comes at now + cool_down or later, 0 to 10 years. This replaces the lease's min_interval; 0 allows a
	// grant at once. Unset: min_interval applies. If the record has a later not_before, the later time wins.
	CoolDown *durationpb.Duration `protobuf:"bytes,2,opt,name=cool_down,json=coolDown,proto3" json:"cool_down,omitempty"`
	// The lock's new status, up to 63 bytes. Unset: the status stays.
	Status *string `protobuf:"bytes,3,opt,name=status,proto3,oneof" json:"status,omitempty"`
	// How many more grants are allowed, 0 to 1,000,000, for example after a success. Unset: the number stays.
	AttemptsLeft  *uint32 `protobuf:"varint,4,opt,name=attempts_left,json=attemptsLeft,proto3,oneof" json:"attempts_left,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReleaseRequest) Reset() {
	*x = ReleaseRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[6]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReleaseRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReleaseRequest) ProtoMessage() {}

func (x *ReleaseRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[6]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReleaseRequest.ProtoReflect.Descriptor instead.
func (*ReleaseRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{6}
}

func (x *ReleaseRequest) GetLeaseId() string {
	if x != nil {
		return x.LeaseId
	}
	return ""
}

func (x *ReleaseRequest) GetCoolDown() *durationpb.Duration {
	if x != nil {
		return x.CoolDown
	}
	return nil
}

func (x *ReleaseRequest) GetStatus() string {
	if x != nil && x.Status != nil {
		return *x.Status
	}
	return ""
}

func (x *ReleaseRequest) GetAttemptsLeft() uint32 {
	if x != nil && x.AttemptsLeft != nil {
		return *x.AttemptsLeft
	}
	return 0
}

// Whether this call ended it.
type ReleaseResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// True if this call ended the claim; false if it had ended before, however it ended.
	Released      bool `protobuf:"varint,1,opt,name=released,proto3" json:"released,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ReleaseResponse) Reset() {
	*x = ReleaseResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[7]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ReleaseResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ReleaseResponse) ProtoMessage() {}

func (x *ReleaseResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[7]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ReleaseResponse.ProtoReflect.Descriptor instead.
func (*ReleaseResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{7}
}

func (x *ReleaseResponse) GetReleased() bool {
	if x != nil {
		return x.Released
	}
	return false
}

// Which limit to set, and its value.
type SetLimitRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one must be set.
	//
	// Types that are valid to be assigned to Target:
	//
	//	*SetLimitRequest_Name
	//	*SetLimitRequest_Pattern
	Target isSetLimitRequest_Target `protobuf_oneof:"target"`
	// Exactly one must be set, so that a forgotten limit does not pause a lock. Later settings beside the limit have a
	// oneof each: one that is not set leaves its setting alone.
	//
	// Types that are valid to be assigned to NewLimit:
	//
	//	*SetLimitRequest_Limit
	//	*SetLimitRequest_UnsetLimit
	NewLimit isSetLimitRequest_NewLimit `protobuf_oneof:"new_limit"`
	// Change only if the setting has this version (0: only if it was never set); otherwise VERSION_MISMATCH.
	ExpectedVersion *uint64 `protobuf:"varint,5,opt,name=expected_version,json=expectedVersion,proto3,oneof" json:"expected_version,omitempty"`
	// The reason, for people; up to 255 bytes.
	Reason        string `protobuf:"bytes,6,opt,name=reason,proto3" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SetLimitRequest) Reset() {
	*x = SetLimitRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[8]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SetLimitRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SetLimitRequest) ProtoMessage() {}

func (x *SetLimitRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[8]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SetLimitRequest.ProtoReflect.Descriptor instead.
func (*SetLimitRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{8}
}

func (x *SetLimitRequest) GetTarget() isSetLimitRequest_Target {
	if x != nil {
		return x.Target
	}
	return nil
}

func (x *SetLimitRequest) GetName() string {
	if x != nil {
		if x, ok := x.Target.(*SetLimitRequest_Name); ok {
			return x.Name
		}
	}
	return ""
}

func (x *SetLimitRequest) GetPattern() string {
	if x != nil {
		if x, ok := x.Target.(*SetLimitRequest_Pattern); ok {
			return x.Pattern
		}
	}
	return ""
}

func (x *SetLimitRequest) GetNewLimit() isSetLimitRequest_NewLimit {
	if x != nil {
		return x.NewLimit
	}
	return nil
}

func (x *SetLimitRequest) GetLimit() uint32 {
	if x != nil {
		if x, ok := x.NewLimit.(*SetLimitRequest_Limit); ok {
			return x.Limit
		}
	}
	return 0
}

func (x *SetLimitRequest) GetUnsetLimit() *emptypb.Empty {
	if x != nil {
		if x, ok := x.NewLimit.(*SetLimitRequest_UnsetLimit); ok {
			return x.UnsetLimit
		}
	}
	return nil
}

func (x *SetLimitRequest) GetExpectedVersion() uint64 {
	if x != nil && x.ExpectedVersion != nil {
		return *x.ExpectedVersion
	}
	return 0
}

func (x *SetLimitRequest) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

type isSetLimitRequest_Target interface {
	isSetLimitRequest_Target()
}

type SetLimitRequest_Name struct {
	// One lock. A limit for a name takes precedence over every pattern.
	Name string `protobuf:"bytes,1,opt,name=name,proto3,oneof"`
}

type SetLimitRequest_Pattern struct {
	// Every lock whose name begins with the part before the star: `etl/*` or `*`. One star, at the end; at most 255
	// bytes with it. Each matching name has this limit for itself. The longest matching pattern applies.
	Pattern string `protobuf:"bytes,2,opt,name=pattern,proto3,oneof"`
}

func (*SetLimitRequest_Name) isSetLimitRequest_Target() {}

func (*SetLimitRequest_Pattern) isSetLimitRequest_Target() {}

type isSetLimitRequest_NewLimit interface {
	isSetLimitRequest_NewLimit()
}

type SetLimitRequest_Limit struct {
	// Permits that may be held at once, 0 to 1,000,000; 0 pauses.
	Limit uint32 `protobuf:"varint,3,opt,name=limit,proto3,oneof"`
}

type SetLimitRequest_UnsetLimit struct {
	// Removes this setting, so that the next best pattern or the default applies.
	UnsetLimit *emptypb.Empty `protobuf:"bytes,4,opt,name=unset_limit,json=unsetLimit,proto3,oneof"`
}

func (*SetLimitRequest_Limit) isSetLimitRequest_NewLimit() {}

func (*SetLimitRequest_UnsetLimit) isSetLimitRequest_NewLimit() {}

// The limit after the change.
type SetLimitResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The limit in force for the name; for a pattern, the limit that was set. If it was unset, the limit of the next
	// shorter pattern, or 1, the default.
	Limit uint32 `protobuf:"varint,1,opt,name=limit,proto3" json:"limit,omitempty"`
	// The version of the setting, for the next expected_version.
	Version uint64 `protobuf:"varint,2,opt,name=version,proto3" json:"version,omitempty"`
	// Permits held; for a pattern, the sum over all matching locks, whichever setting applies to them.
	HeldPermits uint64 `protobuf:"varint,3,opt,name=held_permits,json=heldPermits,proto3" json:"held_permits,omitempty"`
	// Waiters, counted in the same way.
	Waiting uint64 `protobuf:"varint,4,opt,name=waiting,proto3" json:"waiting,omitempty"`
	// More is held than the limit allows; for a pattern, at one or more of the locks to which it applies.
	Draining bool `protobuf:"varint,5,opt,name=draining,proto3" json:"draining,omitempty"`
	// For a pattern: the number of servers that did not confirm within 7 s that they decide by this limit, because they
	// have died, hang or are cut off. If it is 0, no server grants by the old limit any more. For a name it is always 0,
	// because the limit is in the lock's own row.
	ServersBehind uint32 `protobuf:"varint,6,opt,name=servers_behind,json=serversBehind,proto3" json:"servers_behind,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SetLimitResponse) Reset() {
	*x = SetLimitResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[9]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SetLimitResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SetLimitResponse) ProtoMessage() {}

func (x *SetLimitResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[9]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SetLimitResponse.ProtoReflect.Descriptor instead.
func (*SetLimitResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{9}
}

func (x *SetLimitResponse) GetLimit() uint32 {
	if x != nil {
		return x.Limit
	}
	return 0
}

func (x *SetLimitResponse) GetVersion() uint64 {
	if x != nil {
		return x.Version
	}
	return 0
}

func (x *SetLimitResponse) GetHeldPermits() uint64 {
	if x != nil {
		return x.HeldPermits
	}
	return 0
}

func (x *SetLimitResponse) GetWaiting() uint64 {
	if x != nil {
		return x.Waiting
	}
	return 0
}

func (x *SetLimitResponse) GetDraining() bool {
	if x != nil {
		return x.Draining
	}
	return false
}

func (x *SetLimitResponse) GetServersBehind() uint32 {
	if x != nil {
		return x.ServersBehind
	}
	return 0
}

// Which lock to show.
type GetLockRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock, 1 to 255 bytes. The answer lists up to 100 holders and 100 first waiters.
	Name          string `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *GetLockRequest) Reset() {
	*x = GetLockRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[10]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *GetLockRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*GetLockRequest) ProtoMessage() {}

func (x *GetLockRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[10]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use GetLockRequest.ProtoReflect.Descriptor instead.
func (*GetLockRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{10}
}

func (x *GetLockRequest) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

// The lock.
type GetLockResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock now.
	Lock          *Lock `protobuf:"bytes,1,opt,name=lock,proto3" json:"lock,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *GetLockResponse) Reset() {
	*x = GetLockResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[11]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *GetLockResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*GetLockResponse) ProtoMessage() {}

func (x *GetLockResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[11]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use GetLockResponse.ProtoReflect.Descriptor instead.
func (*GetLockResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{11}
}

func (x *GetLockResponse) GetLock() *Lock {
	if x != nil {
		return x.Lock
	}
	return nil
}

// Which locks to show.
type ListLocksRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Only names that begin with these bytes, at most 255; empty: all.
	Prefix string `protobuf:"bytes,1,opt,name=prefix,proto3" json:"prefix,omitempty"`
	// The most locks to return, 1 to 1,000; 0 means 100. A page ends at about 1 MiB, so it may be shorter: only an empty
	// next_page_token means that it is the last. Each lock lists up to 10 holders and 10 first waiters.
	PageSize int32 `protobuf:"varint,2,opt,name=page_size,json=pageSize,proto3" json:"page_size,omitempty"`
	// The token of the page before, with the same prefix. Not with an order by waiters.
	PageToken string `protobuf:"bytes,3,opt,name=page_token,json=pageToken,proto3" json:"page_token,omitempty"`
	// Only locks with a holder or a waiter.
	BusyOnly bool `protobuf:"varint,4,opt,name=busy_only,json=busyOnly,proto3" json:"busy_only,omitempty"`
	// Unspecified means by name. The orders by waiters have one page only, because they change with every grant; ask for
	// a larger page to see more. Their cost grows with the number of waiters.
	Order         ListOrder `protobuf:"varint,5,opt,name=order,proto3,enum=rowlock.v1.ListOrder" json:"order,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListLocksRequest) Reset() {
	*x = ListLocksRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[12]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListLocksRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListLocksRequest) ProtoMessage() {}

func (x *ListLocksRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[12]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListLocksRequest.ProtoReflect.Descriptor instead.
func (*ListLocksRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{12}
}

func (x *ListLocksRequest) GetPrefix() string {
	if x != nil {
		return x.Prefix
	}
	return ""
}

func (x *ListLocksRequest) GetPageSize() int32 {
	if x != nil {
		return x.PageSize
	}
	return 0
}

func (x *ListLocksRequest) GetPageToken() string {
	if x != nil {
		return x.PageToken
	}
	return ""
}

func (x *ListLocksRequest) GetBusyOnly() bool {
	if x != nil {
		return x.BusyOnly
	}
	return false
}

func (x *ListLocksRequest) GetOrder() ListOrder {
	if x != nil {
		return x.Order
	}
	return ListOrder_LIST_ORDER_UNSPECIFIED
}

// One page.
type ListLocksResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// In the requested order.
	Locks []*Lock `protobuf:"bytes,1,rep,name=locks,proto3" json:"locks,omitempty"`
	// The token of the next page; empty at the end, and always in an order by waiters.
	NextPageToken string `protobuf:"bytes,2,opt,name=next_page_token,json=nextPageToken,proto3" json:"next_page_token,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListLocksResponse) Reset() {
	*x = ListLocksResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[13]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListLocksResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListLocksResponse) ProtoMessage() {}

func (x *ListLocksResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[13]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListLocksResponse.ProtoReflect.Descriptor instead.
func (*ListLocksResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{13}
}

func (x *ListLocksResponse) GetLocks() []*Lock {
	if x != nil {
		return x.Locks
	}
	return nil
}

func (x *ListLocksResponse) GetNextPageToken() string {
	if x != nil {
		return x.NextPageToken
	}
	return ""
}

// Which locks to watch.
type WatchLocksRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Only names that begin with these bytes, at most 255; empty: all.
	Prefix        string `protobuf:"bytes,1,opt,name=prefix,proto3" json:"prefix,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *WatchLocksRequest) Reset() {
	*x = WatchLocksRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[14]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *WatchLocksRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*WatchLocksRequest) ProtoMessage() {}

func (x *WatchLocksRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[14]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use WatchLocksRequest.ProtoReflect.Descriptor instead.
func (*WatchLocksRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{14}
}

func (x *WatchLocksRequest) GetPrefix() string {
	if x != nil {
		return x.Prefix
	}
	return ""
}

// A part of a snapshot, or the changes since.
type WatchLocksResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// This message begins a snapshot that replaces all that this stream sent before. Not set in the first message.
	BeganAnew bool `protobuf:"varint,1,opt,name=began_anew,json=beganAnew,proto3" json:"began_anew,omitempty"`
	// Up to 100 locks in their present state. Each lists up to 10 holders and 10 first waiters.
	Locks []*Lock `protobuf:"bytes,2,rep,name=locks,proto3" json:"locks,omitempty"`
	// Names of locks that are gone: deleted, or unused for a while. A name may be one that the stream never sent. If the
	// lock comes back, the stream sends it again.
	Deleted []string `protobuf:"bytes,3,rep,name=deleted,proto3" json:"deleted,omitempty"`
	// This message completes the snapshot: a lock that is not in it did not exist when the snapshot began, or has gone
	// since. Set once for each snapshot.
	Complete      bool `protobuf:"varint,4,opt,name=complete,proto3" json:"complete,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *WatchLocksResponse) Reset() {
	*x = WatchLocksResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[15]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *WatchLocksResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*WatchLocksResponse) ProtoMessage() {}

func (x *WatchLocksResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[15]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use WatchLocksResponse.ProtoReflect.Descriptor instead.
func (*WatchLocksResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{15}
}

func (x *WatchLocksResponse) GetBeganAnew() bool {
	if x != nil {
		return x.BeganAnew
	}
	return false
}

func (x *WatchLocksResponse) GetLocks() []*Lock {
	if x != nil {
		return x.Locks
	}
	return nil
}

func (x *WatchLocksResponse) GetDeleted() []string {
	if x != nil {
		return x.Deleted
	}
	return nil
}

func (x *WatchLocksResponse) GetComplete() bool {
	if x != nil {
		return x.Complete
	}
	return false
}

// Which limits to show.
type ListLimitsRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Only names and patterns whose text begins with these bytes, at most 255; empty: all. Shorter patterns that also
	// match names under the prefix, such as `*`, are not listed.
	Prefix string `protobuf:"bytes,1,opt,name=prefix,proto3" json:"prefix,omitempty"`
	// The most settings to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
	PageSize int32 `protobuf:"varint,2,opt,name=page_size,json=pageSize,proto3" json:"page_size,omitempty"`
	// The token of the page before, with the same prefix.
	PageToken     string `protobuf:"bytes,3,opt,name=page_token,json=pageToken,proto3" json:"page_token,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListLimitsRequest) Reset() {
	*x = ListLimitsRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[16]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListLimitsRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListLimitsRequest) ProtoMessage() {}

func (x *ListLimitsRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[16]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListLimitsRequest.ProtoReflect.Descriptor instead.
func (*ListLimitsRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{16}
}

func (x *ListLimitsRequest) GetPrefix() string {
	if x != nil {
		return x.Prefix
	}
	return ""
}

func (x *ListLimitsRequest) GetPageSize() int32 {
	if x != nil {
		return x.PageSize
	}
	return 0
}

func (x *ListLimitsRequest) GetPageToken() string {
	if x != nil {
		return x.PageToken
	}
	return ""
}

// A limit that SetLimit has set.
type LimitSetting struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// What it applies to; one is set.
	//
	// Types that are valid to be assigned to Target:
	//
	//	*LimitSetting_Name
	//	*LimitSetting_Pattern
	Target isLimitSetting_Target `protobuf_oneof:"target"`
	// Permits that may be held at once; 0 pauses.
	Limit uint32 `protobuf:"varint,3,opt,name=limit,proto3" json:"limit,omitempty"`
	// The version of the setting, for the next expected_version.
	Version uint64 `protobuf:"varint,4,opt,name=version,proto3" json:"version,omitempty"`
	// The reason for the change.
	Reason        string `protobuf:"bytes,5,opt,name=reason,proto3" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *LimitSetting) Reset() {
	*x = LimitSetting{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[17]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *LimitSetting) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*LimitSetting) ProtoMessage() {}

func (x *LimitSetting) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[17]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use LimitSetting.ProtoReflect.Descriptor instead.
func (*LimitSetting) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{17}
}

func (x *LimitSetting) GetTarget() isLimitSetting_Target {
	if x != nil {
		return x.Target
	}
	return nil
}

func (x *LimitSetting) GetName() string {
	if x != nil {
		if x, ok := x.Target.(*LimitSetting_Name); ok {
			return x.Name
		}
	}
	return ""
}

func (x *LimitSetting) GetPattern() string {
	if x != nil {
		if x, ok := x.Target.(*LimitSetting_Pattern); ok {
			return x.Pattern
		}
	}
	return ""
}

func (x *LimitSetting) GetLimit() uint32 {
	if x != nil {
		return x.Limit
	}
	return 0
}

func (x *LimitSetting) GetVersion() uint64 {
	if x != nil {
		return x.Version
	}
	return 0
}

func (x *LimitSetting) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

type isLimitSetting_Target interface {
	isLimitSetting_Target()
}

type LimitSetting_Name struct {
	// For one lock.
	Name string `protobuf:"bytes,1,opt,name=name,proto3,oneof"`
}

type LimitSetting_Pattern struct {
	// Every matching name.
	Pattern string `protobuf:"bytes,2,opt,name=pattern,proto3,oneof"`
}

func (*LimitSetting_Name) isLimitSetting_Target() {}

func (*LimitSetting_Pattern) isLimitSetting_Target() {}

// One page.
type ListLimitsResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Patterns, then names, each in byte order.
	Limits []*LimitSetting `protobuf:"bytes,1,rep,name=limits,proto3" json:"limits,omitempty"`
	// The token of the next page; empty at the end.
	NextPageToken string `protobuf:"bytes,2,opt,name=next_page_token,json=nextPageToken,proto3" json:"next_page_token,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListLimitsResponse) Reset() {
	*x = ListLimitsResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[18]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListLimitsResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListLimitsResponse) ProtoMessage() {}

func (x *ListLimitsResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[18]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListLimitsResponse.ProtoReflect.Descriptor instead.
func (*ListLimitsResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{18}
}

func (x *ListLimitsResponse) GetLimits() []*LimitSetting {
	if x != nil {
		return x.Limits
	}
	return nil
}

func (x *ListLimitsResponse) GetNextPageToken() string {
	if x != nil {
		return x.NextPageToken
	}
	return ""
}

// Which claims to list. Empty fields do not restrict.
type ListClaimsRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Claims of this lock. Not with prefix.
	LockName string `protobuf:"bytes,1,opt,name=lock_name,json=lockName,proto3" json:"lock_name,omitempty"`
	// Claims of locks whose names begin with these bytes, at most 255.
	Prefix string `protobuf:"bytes,2,opt,name=prefix,proto3" json:"prefix,omitempty"`
	// Claims with this owner.
	Owner string `protobuf:"bytes,3,opt,name=owner,proto3" json:"owner,omitempty"`
	// Claims of this principal.
	Principal string `protobuf:"bytes,4,opt,name=principal,proto3" json:"principal,omitempty"`
	// Claims with all of these labels.
	Labels map[string]string `protobuf:"bytes,5,rep,name=labels,proto3" json:"labels,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	// Claims in one of these states. Empty: in any.
	States []ClaimState `protobuf:"varint,6,rep,packed,name=states,proto3,enum=rowlock.v1.ClaimState" json:"states,omitempty"`
	// Ended claims that ended in one of these ways. Live claims are then left out.
	EndReasons []RefusalReason `protobuf:"varint,7,rep,packed,name=end_reasons,json=endReasons,proto3,enum=rowlock.v1.RefusalReason" json:"end_reasons,omitempty"`
	// Ended claims that ended at this instant or later.
	From *timestamppb.Timestamp `protobuf:"bytes,8,opt,name=from,proto3" json:"from,omitempty"`
	// Ended claims that ended before this instant. If it lies in the past, live claims are left out.
	Until *timestamppb.Timestamp `protobuf:"bytes,9,opt,name=until,proto3" json:"until,omitempty"`
	// Claims that held the lock at this instant. Only with lock_name, and not with from and until.
	HeldAt *timestamppb.Timestamp `protobuf:"bytes,10,opt,name=held_at,json=heldAt,proto3" json:"held_at,omitempty"`
	// The most claims to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
	PageSize int32 `protobuf:"varint,11,opt,name=page_size,json=pageSize,proto3" json:"page_size,omitempty"`
	// The token of the page before, with otherwise the same request.
	PageToken     string `protobuf:"bytes,12,opt,name=page_token,json=pageToken,proto3" json:"page_token,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListClaimsRequest) Reset() {
	*x = ListClaimsRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[19]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListClaimsRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListClaimsRequest) ProtoMessage() {}

func (x *ListClaimsRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[19]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListClaimsRequest.ProtoReflect.Descriptor instead.
func (*ListClaimsRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{19}
}

func (x *ListClaimsRequest) GetLockName() string {
	if x != nil {
		return x.LockName
	}
	return ""
}

func (x *ListClaimsRequest) GetPrefix() string {
	if x != nil {
		return x.Prefix
	}
	return ""
}

func (x *ListClaimsRequest) GetOwner() string {
	if x != nil {
		return x.Owner
	}
	return ""
}

func (x *ListClaimsRequest) GetPrincipal() string {
	if x != nil {
		return x.Principal
	}
	return ""
}

func (x *ListClaimsRequest) GetLabels() map[string]string {
	if x != nil {
		return x.Labels
	}
	return nil
}

func (x *ListClaimsRequest) GetStates() []ClaimState {
	if x != nil {
		return x.States
	}
	return nil
}

func (x *ListClaimsRequest) GetEndReasons() []RefusalReason {
	if x != nil {
		return x.EndReasons
	}
	return nil
}

func (x *ListClaimsRequest) GetFrom() *timestamppb.Timestamp {
	if x != nil {
		return x.From
	}
	return nil
}

func (x *ListClaimsRequest) GetUntil() *timestamppb.Timestamp {
	if x != nil {
		return x.Until
	}
	return nil
}

func (x *ListClaimsRequest) GetHeldAt() *timestamppb.Timestamp {
	if x != nil {
		return x.HeldAt
	}
	return nil
}

func (x *ListClaimsRequest) GetPageSize() int32 {
	if x != nil {
		return x.PageSize
	}
	return 0
}

func (x *ListClaimsRequest) GetPageToken() string {
	if x != nil {
		return x.PageToken
	}
	return ""
}

// One page.
type ListClaimsResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Live ones first, then ended ones, newest first.
	Claims []*Claim `protobuf:"bytes,1,rep,name=claims,proto3" json:"claims,omitempty"`
	// The token of the next page; empty at the end.
	NextPageToken string `protobuf:"bytes,2,opt,name=next_page_token,json=nextPageToken,proto3" json:"next_page_token,omitempty"`
	// The page ended because the server had searched 10,000 ended claims for it, back to this instant: of one lock, when
	// they were requested; otherwise, when they ended.
	SearchedBackTo *timestamppb.Timestamp `protobuf:"bytes,3,opt,name=searched_back_to,json=searchedBackTo,proto3" json:"searched_back_to,omitempty"`
	// Every claim that the request asks for and that ended at this instant or later is still kept. Earlier ones may have been
	// forgotten, so that none of them is no proof that there was none: the server keeps ended claims for as long as
	// ROWLOCK_HISTORY says, and at most ROWLOCK_HISTORY_ROWS_MAX of them.
	CompleteFrom  *timestamppb.Timestamp `protobuf:"bytes,4,opt,name=complete_from,json=completeFrom,proto3" json:"complete_from,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListClaimsResponse) Reset() {
	*x = ListClaimsResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[20]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListClaimsResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListClaimsResponse) ProtoMessage() {}

func (x *ListClaimsResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[20]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListClaimsResponse.ProtoReflect.Descriptor instead.
func (*ListClaimsResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{20}
}

func (x *ListClaimsResponse) GetClaims() []*Claim {
	if x != nil {
		return x.Claims
	}
	return nil
}

func (x *ListClaimsResponse) GetNextPageToken() string {
	if x != nil {
		return x.NextPageToken
	}
	return ""
}

func (x *ListClaimsResponse) GetSearchedBackTo() *timestamppb.Timestamp {
	if x != nil {
		return x.SearchedBackTo
	}
	return nil
}

func (x *ListClaimsResponse) GetCompleteFrom() *timestamppb.Timestamp {
	if x != nil {
		return x.CompleteFrom
	}
	return nil
}

// Which changes to list. Empty fields do not restrict.
type ListChangesRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Changes of this lock, and of the patterns that match its name. Not with prefix.
	LockName string `protobuf:"bytes,1,opt,name=lock_name,json=lockName,proto3" json:"lock_name,omitempty"`
	// Changes of locks and patterns whose texts begin with these bytes, at most 255.
	Prefix string `protobuf:"bytes,2,opt,name=prefix,proto3" json:"prefix,omitempty"`
	// Changes of these kinds. Empty: of any.
	Kinds []ChangeKind `protobuf:"varint,3,rep,packed,name=kinds,proto3,enum=rowlock.v1.ChangeKind" json:"kinds,omitempty"`
	// Changes at this instant or later.
	From *timestamppb.Timestamp `protobuf:"bytes,4,opt,name=from,proto3" json:"from,omitempty"`
	// Changes before this instant.
	Until *timestamppb.Timestamp `protobuf:"bytes,5,opt,name=until,proto3" json:"until,omitempty"`
	// Changes by this principal or address.
	ChangedBy string `protobuf:"bytes,6,opt,name=changed_by,json=changedBy,proto3" json:"changed_by,omitempty"`
	// The most changes to return, 1 to 1,000; 0 means 100. Only an empty next_page_token means that a page is the last.
	PageSize int32 `protobuf:"varint,7,opt,name=page_size,json=pageSize,proto3" json:"page_size,omitempty"`
	// The token of the page before, with otherwise the same request.
	PageToken     string `protobuf:"bytes,8,opt,name=page_token,json=pageToken,proto3" json:"page_token,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListChangesRequest) Reset() {
	*x = ListChangesRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[21]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListChangesRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListChangesRequest) ProtoMessage() {}

func (x *ListChangesRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[21]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListChangesRequest.ProtoReflect.Descriptor instead.
func (*ListChangesRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{21}
}

func (x *ListChangesRequest) GetLockName() string {
	if x != nil {
		return x.LockName
	}
	return ""
}

func (x *ListChangesRequest) GetPrefix() string {
	if x != nil {
		return x.Prefix
	}
	return ""
}

func (x *ListChangesRequest) GetKinds() []ChangeKind {
	if x != nil {
		return x.Kinds
	}
	return nil
}

func (x *ListChangesRequest) GetFrom() *timestamppb.Timestamp {
	if x != nil {
		return x.From
	}
	return nil
}

func (x *ListChangesRequest) GetUntil() *timestamppb.Timestamp {
	if x != nil {
		return x.Until
	}
	return nil
}

func (x *ListChangesRequest) GetChangedBy() string {
	if x != nil {
		return x.ChangedBy
	}
	return ""
}

func (x *ListChangesRequest) GetPageSize() int32 {
	if x != nil {
		return x.PageSize
	}
	return 0
}

func (x *ListChangesRequest) GetPageToken() string {
	if x != nil {
		return x.PageToken
	}
	return ""
}

// One page.
type ListChangesResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Newest first.
	Changes []*Change `protobuf:"bytes,1,rep,name=changes,proto3" json:"changes,omitempty"`
	// The token of the next page; empty at the end.
	NextPageToken string `protobuf:"bytes,2,opt,name=next_page_token,json=nextPageToken,proto3" json:"next_page_token,omitempty"`
	// The page ended because the server had searched 10,000 changes for it, back to this instant.
	SearchedBackTo *timestamppb.Timestamp `protobuf:"bytes,3,opt,name=searched_back_to,json=searchedBackTo,proto3" json:"searched_back_to,omitempty"`
	// Every change from this instant on is still kept. Earlier ones may have been forgotten: the server keeps changes for
	// ROWLOCK_CHANGES_RETENTION, and at most about a million of them.
	CompleteFrom  *timestamppb.Timestamp `protobuf:"bytes,4,opt,name=complete_from,json=completeFrom,proto3" json:"complete_from,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ListChangesResponse) Reset() {
	*x = ListChangesResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[22]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ListChangesResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ListChangesResponse) ProtoMessage() {}

func (x *ListChangesResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[22]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ListChangesResponse.ProtoReflect.Descriptor instead.
func (*ListChangesResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{22}
}

func (x *ListChangesResponse) GetChanges() []*Change {
	if x != nil {
		return x.Changes
	}
	return nil
}

func (x *ListChangesResponse) GetNextPageToken() string {
	if x != nil {
		return x.NextPageToken
	}
	return ""
}

func (x *ListChangesResponse) GetSearchedBackTo() *timestamppb.Timestamp {
	if x != nil {
		return x.SearchedBackTo
	}
	return nil
}

func (x *ListChangesResponse) GetCompleteFrom() *timestamppb.Timestamp {
	if x != nil {
		return x.CompleteFrom
	}
	return nil
}

// What to explain.
type ExplainWaitRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one must be set.
	//
	// Types that are valid to be assigned to Target:
	//
	//	*ExplainWaitRequest_Name
	//	*ExplainWaitRequest_TicketId
	//	*ExplainWaitRequest_Claim
	Target        isExplainWaitRequest_Target `protobuf_oneof:"target"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ExplainWaitRequest) Reset() {
	*x = ExplainWaitRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[23]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ExplainWaitRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ExplainWaitRequest) ProtoMessage() {}

func (x *ExplainWaitRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[23]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ExplainWaitRequest.ProtoReflect.Descriptor instead.
func (*ExplainWaitRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{23}
}

func (x *ExplainWaitRequest) GetTarget() isExplainWaitRequest_Target {
	if x != nil {
		return x.Target
	}
	return nil
}

func (x *ExplainWaitRequest) GetName() string {
	if x != nil {
		if x, ok := x.Target.(*ExplainWaitRequest_Name); ok {
			return x.Name
		}
	}
	return ""
}

func (x *ExplainWaitRequest) GetTicketId() string {
	if x != nil {
		if x, ok := x.Target.(*ExplainWaitRequest_TicketId); ok {
			return x.TicketId
		}
	}
	return ""
}

func (x *ExplainWaitRequest) GetClaim() *ClaimReference {
	if x != nil {
		if x, ok := x.Target.(*ExplainWaitRequest_Claim); ok {
			return x.Claim
		}
	}
	return nil
}

type isExplainWaitRequest_Target interface {
	isExplainWaitRequest_Target()
}

type ExplainWaitRequest_Name struct {
	// A request for one permit of this lock that would come now.
	Name string `protobuf:"bytes,1,opt,name=name,proto3,oneof"`
}

type ExplainWaitRequest_TicketId struct {
	// A waiter, by its secret id.
	TicketId string `protobuf:"bytes,2,opt,name=ticket_id,json=ticketId,proto3,oneof"`
}

type ExplainWaitRequest_Claim struct {
	// A waiter, by its public number.
	Claim *ClaimReference `protobuf:"bytes,3,opt,name=claim,proto3,oneof"`
}

func (*ExplainWaitRequest_Name) isExplainWaitRequest_Target() {}

func (*ExplainWaitRequest_TicketId) isExplainWaitRequest_Target() {}

func (*ExplainWaitRequest_Claim) isExplainWaitRequest_Target() {}

// Why it waits.
type ExplainWaitResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock with its limit and counts. Holders, waiters and the record are left out: the causes have what matters.
	Lock *Lock `protobuf:"bytes,1,opt,name=lock,proto3" json:"lock,omitempty"`
	// The waiter; unset for a name.
	Claim *Claim `protobuf:"bytes,2,opt,name=claim,proto3" json:"claim,omitempty"`
	// Why it is not granted, the most important first. Empty: a request would be granted at once, or the waiter is about to
	// be.
	Causes []*WaitCause `protobuf:"bytes,3,rep,name=causes,proto3" json:"causes,omitempty"`
	// The same in one line for people. Not stable.
	Summary string `protobuf:"bytes,4,opt,name=summary,proto3" json:"summary,omitempty"`
	// How long it is likely to wait; unset if too little is known: fewer than 5 leases in the history of the lock, or a
	// cause that they say nothing about. Also unset for a caller who may not see the lock.
	Estimate      *WaitEstimate `protobuf:"bytes,5,opt,name=estimate,proto3" json:"estimate,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ExplainWaitResponse) Reset() {
	*x = ExplainWaitResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[24]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ExplainWaitResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ExplainWaitResponse) ProtoMessage() {}

func (x *ExplainWaitResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[24]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ExplainWaitResponse.ProtoReflect.Descriptor instead.
func (*ExplainWaitResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{24}
}

func (x *ExplainWaitResponse) GetLock() *Lock {
	if x != nil {
		return x.Lock
	}
	return nil
}

func (x *ExplainWaitResponse) GetClaim() *Claim {
	if x != nil {
		return x.Claim
	}
	return nil
}

func (x *ExplainWaitResponse) GetCauses() []*WaitCause {
	if x != nil {
		return x.Causes
	}
	return nil
}

func (x *ExplainWaitResponse) GetSummary() string {
	if x != nil {
		return x.Summary
	}
	return ""
}

func (x *ExplainWaitResponse) GetEstimate() *WaitEstimate {
	if x != nil {
		return x.Estimate
	}
	return nil
}

// A claim, by its public number.
type ClaimReference struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock.
	LockName string `protobuf:"bytes,1,opt,name=lock_name,json=lockName,proto3" json:"lock_name,omitempty"`
	// Its number at that lock.
	TicketNumber  uint64 `protobuf:"varint,2,opt,name=ticket_number,json=ticketNumber,proto3" json:"ticket_number,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ClaimReference) Reset() {
	*x = ClaimReference{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[25]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ClaimReference) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ClaimReference) ProtoMessage() {}

func (x *ClaimReference) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[25]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ClaimReference.ProtoReflect.Descriptor instead.
func (*ClaimReference) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{25}
}

func (x *ClaimReference) GetLockName() string {
	if x != nil {
		return x.LockName
	}
	return ""
}

func (x *ClaimReference) GetTicketNumber() uint64 {
	if x != nil {
		return x.TicketNumber
	}
	return 0
}

// What to end.
type ForceReleaseRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one must be set.
	//
	// Types that are valid to be assigned to Target:
	//
	//	*ForceReleaseRequest_Name
	//	*ForceReleaseRequest_Claim
	Target isForceReleaseRequest_Target `protobuf_oneof:"target"`
	// The reason; required, 1 to 255 bytes. The server logs it and keeps it with the claim.
	Reason        string `protobuf:"bytes,3,opt,name=reason,proto3" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ForceReleaseRequest) Reset() {
	*x = ForceReleaseRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[26]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ForceReleaseRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ForceReleaseRequest) ProtoMessage() {}

func (x *ForceReleaseRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[26]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ForceReleaseRequest.ProtoReflect.Descriptor instead.
func (*ForceReleaseRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{26}
}

func (x *ForceReleaseRequest) GetTarget() isForceReleaseRequest_Target {
	if x != nil {
		return x.Target
	}
	return nil
}

func (x *ForceReleaseRequest) GetName() string {
	if x != nil {
		if x, ok := x.Target.(*ForceReleaseRequest_Name); ok {
			return x.Name
		}
	}
	return ""
}

func (x *ForceReleaseRequest) GetClaim() *ClaimReference {
	if x != nil {
		if x, ok := x.Target.(*ForceReleaseRequest_Claim); ok {
			return x.Claim
		}
	}
	return nil
}

func (x *ForceReleaseRequest) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

type isForceReleaseRequest_Target interface {
	isForceReleaseRequest_Target()
}

type ForceReleaseRequest_Name struct {
	// All holders of this lock, oldest first, up to 500 a call, so that the answer fits into the 4 MiB that clients
	// accept. Repeat the call while `remaining` is above 0. Waiters stay, and are granted what becomes free.
	Name string `protobuf:"bytes,1,opt,name=name,proto3,oneof"`
}

type ForceReleaseRequest_Claim struct {
	// One holder or waiter.
	Claim *ClaimReference `protobuf:"bytes,2,opt,name=claim,proto3,oneof"`
}

func (*ForceReleaseRequest_Name) isForceReleaseRequest_Target() {}

func (*ForceReleaseRequest_Claim) isForceReleaseRequest_Target() {}

// What was ended.
type ForceReleaseResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The claims as they were before; empty if there was nothing to end. For a caller who may not see the lock they have no
	// owner, principal and labels.
	Ended []*Claim `protobuf:"bytes,1,rep,name=ended,proto3" json:"ended,omitempty"`
	// Holders of the lock that this call did not end because of its limit of 500; if above 0, repeat the call. It does
	// not count new holders, but a repeated call ends them too. 0 for one claim.
	Remaining     uint32 `protobuf:"varint,2,opt,name=remaining,proto3" json:"remaining,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *ForceReleaseResponse) Reset() {
	*x = ForceReleaseResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[27]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *ForceReleaseResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*ForceReleaseResponse) ProtoMessage() {}

func (x *ForceReleaseResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[27]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use ForceReleaseResponse.ProtoReflect.Descriptor instead.
func (*ForceReleaseResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{27}
}

func (x *ForceReleaseResponse) GetEnded() []*Claim {
	if x != nil {
		return x.Ended
	}
	return nil
}

func (x *ForceReleaseResponse) GetRemaining() uint32 {
	if x != nil {
		return x.Remaining
	}
	return 0
}

// What to set: at least one of new_not_before, new_attempts_left and status. What is not set stays.
type UpdateRecordRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock, 1 to 255 bytes. The call creates it if necessary.
	Name string `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	// When the lock may be granted.
	//
	// Types that are valid to be assigned to NewNotBefore:
	//
	//	*UpdateRecordRequest_NotBefore
	//	*UpdateRecordRequest_NotBeforeIn
	//	*UpdateRecordRequest_UnsetNotBefore
	NewNotBefore isUpdateRecordRequest_NewNotBefore `protobuf_oneof:"new_not_before"`
	// How many more grants are allowed.
	//
	// Types that are valid to be assigned to NewAttemptsLeft:
	//
	//	*UpdateRecordRequest_AttemptsLeft
	//	*UpdateRecordRequest_UnsetAttemptsLeft
	NewAttemptsLeft isUpdateRecordRequest_NewAttemptsLeft `protobuf_oneof:"new_attempts_left"`
	// The status, up to 63 bytes.
	Status *string `protobuf:"bytes,7,opt,name=status,proto3,oneof" json:"status,omitempty"`
	// Change only if the record has this version (0: only if the lock has no record); otherwise VERSION_MISMATCH.
	ExpectedVersion *uint64 `protobuf:"varint,8,opt,name=expected_version,json=expectedVersion,proto3,oneof" json:"expected_version,omitempty"`
	// The reason, for people; up to 255 bytes. ListChanges shows it.
	Reason        string `protobuf:"bytes,9,opt,name=reason,proto3" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *UpdateRecordRequest) Reset() {
	*x = UpdateRecordRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[28]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *UpdateRecordRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*UpdateRecordRequest) ProtoMessage() {}

func (x *UpdateRecordRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[28]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use UpdateRecordRequest.ProtoReflect.Descriptor instead.
func (*UpdateRecordRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{28}
}

func (x *UpdateRecordRequest) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *UpdateRecordRequest) GetNewNotBefore() isUpdateRecordRequest_NewNotBefore {
	if x != nil {
		return x.NewNotBefore
	}
	return nil
}

func (x *UpdateRecordRequest) GetNotBefore() *timestamppb.Timestamp {
	if x != nil {
		if x, ok := x.NewNotBefore.(*UpdateRecordRequest_NotBefore); ok {
			return x.NotBefore
		}
	}
	return nil
}

func (x *UpdateRecordRequest) GetNotBeforeIn() *durationpb.Duration {
	if x != nil {
		if x, ok := x.NewNotBefore.(*UpdateRecordRequest_NotBeforeIn); ok {
			return x.NotBeforeIn
		}
	}
	return nil
}

func (x *UpdateRecordRequest) GetUnsetNotBefore() *emptypb.Empty {
	if x != nil {
		if x, ok := x.NewNotBefore.(*UpdateRecordRequest_UnsetNotBefore); ok {
			return x.UnsetNotBefore
		}
	}
	return nil
}

func (x *UpdateRecordRequest) GetNewAttemptsLeft() isUpdateRecordRequest_NewAttemptsLeft {
	if x != nil {
		return x.NewAttemptsLeft
	}
	return nil
}

func (x *UpdateRecordRequest) GetAttemptsLeft() uint32 {
	if x != nil {
		if x, ok := x.NewAttemptsLeft.(*UpdateRecordRequest_AttemptsLeft); ok {
			return x.AttemptsLeft
		}
	}
	return 0
}

func (x *UpdateRecordRequest) GetUnsetAttemptsLeft() *emptypb.Empty {
	if x != nil {
		if x, ok := x.NewAttemptsLeft.(*UpdateRecordRequest_UnsetAttemptsLeft); ok {
			return x.UnsetAttemptsLeft
		}
	}
	return nil
}

func (x *UpdateRecordRequest) GetStatus() string {
	if x != nil && x.Status != nil {
		return *x.Status
	}
	return ""
}

func (x *UpdateRecordRequest) GetExpectedVersion() uint64 {
	if x != nil && x.ExpectedVersion != nil {
		return *x.ExpectedVersion
	}
	return 0
}

func (x *UpdateRecordRequest) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

type isUpdateRecordRequest_NewNotBefore interface {
	isUpdateRecordRequest_NewNotBefore()
}

type UpdateRecordRequest_NotBefore struct {
	// Not before this instant of the database's clock, from 1970 to 10 years (of 365.25 days) ahead. An instant in the past
	// makes the lock due since then, so that Capture takes it earlier.
	NotBefore *timestamppb.Timestamp `protobuf:"bytes,2,opt,name=not_before,json=notBefore,proto3,oneof"`
}

type UpdateRecordRequest_NotBeforeIn struct {
	// The same as a time from now, 0 to 10 years, for callers whose clock may differ from the database's.
	NotBeforeIn *durationpb.Duration `protobuf:"bytes,3,opt,name=not_before_in,json=notBeforeIn,proto3,oneof"`
}

type UpdateRecordRequest_UnsetNotBefore struct {
	// At any time.
	UnsetNotBefore *emptypb.Empty `protobuf:"bytes,4,opt,name=unset_not_before,json=unsetNotBefore,proto3,oneof"`
}

func (*UpdateRecordRequest_NotBefore) isUpdateRecordRequest_NewNotBefore() {}

func (*UpdateRecordRequest_NotBeforeIn) isUpdateRecordRequest_NewNotBefore() {}

func (*UpdateRecordRequest_UnsetNotBefore) isUpdateRecordRequest_NewNotBefore() {}

type isUpdateRecordRequest_NewAttemptsLeft interface {
	isUpdateRecordRequest_NewAttemptsLeft()
}

type UpdateRecordRequest_AttemptsLeft struct {
	// So many, 0 to 1,000,000.
	AttemptsLeft uint32 `protobuf:"varint,5,opt,name=attempts_left,json=attemptsLeft,proto3,oneof"`
}

type UpdateRecordRequest_UnsetAttemptsLeft struct {
	// Any number.
	UnsetAttemptsLeft *emptypb.Empty `protobuf:"bytes,6,opt,name=unset_attempts_left,json=unsetAttemptsLeft,proto3,oneof"`
}

func (*UpdateRecordRequest_AttemptsLeft) isUpdateRecordRequest_NewAttemptsLeft() {}

func (*UpdateRecordRequest_UnsetAttemptsLeft) isUpdateRecordRequest_NewAttemptsLeft() {}

// What the lock remembers now.
type UpdateRecordResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// With its new version, after the grants that the change allowed. For a caller who may not see the lock, its last run
	// has no owner.
	Record        *LockRecord `protobuf:"bytes,1,opt,name=record,proto3" json:"record,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *UpdateRecordResponse) Reset() {
	*x = UpdateRecordResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[29]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *UpdateRecordResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*UpdateRecordResponse) ProtoMessage() {}

func (x *UpdateRecordResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[29]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use UpdateRecordResponse.ProtoReflect.Descriptor instead.
func (*UpdateRecordResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{29}
}

func (x *UpdateRecordResponse) GetRecord() *LockRecord {
	if x != nil {
		return x.Record
	}
	return nil
}

// Whose record to remove.
type DeleteRecordRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The lock, 1 to 255 bytes.
	Name string `protobuf:"bytes,1,opt,name=name,proto3" json:"name,omitempty"`
	// Remove it only if the record has this version (0: only if the lock has none, which changes nothing); otherwise
	// VERSION_MISMATCH.
	ExpectedVersion *uint64 `protobuf:"varint,2,opt,name=expected_version,json=expectedVersion,proto3,oneof" json:"expected_version,omitempty"`
	// The reason, for people; up to 255 bytes. ListChanges shows it.
	Reason        string `protobuf:"bytes,3,opt,name=reason,proto3" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *DeleteRecordRequest) Reset() {
	*x = DeleteRecordRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[30]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *DeleteRecordRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*DeleteRecordRequest) ProtoMessage() {}

func (x *DeleteRecordRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[30]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use DeleteRecordRequest.ProtoReflect.Descriptor instead.
func (*DeleteRecordRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{30}
}

func (x *DeleteRecordRequest) GetName() string {
	if x != nil {
		return x.Name
	}
	return ""
}

func (x *DeleteRecordRequest) GetExpectedVersion() uint64 {
	if x != nil && x.ExpectedVersion != nil {
		return *x.ExpectedVersion
	}
	return 0
}

func (x *DeleteRecordRequest) GetReason() string {
	if x != nil {
		return x.Reason
	}
	return ""
}

// Whether there was one.
type DeleteRecordResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// True if this call removed a record; false if there was none, or no such lock.
	Deleted       bool `protobuf:"varint,1,opt,name=deleted,proto3" json:"deleted,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *DeleteRecordResponse) Reset() {
	*x = DeleteRecordResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[31]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *DeleteRecordResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*DeleteRecordResponse) ProtoMessage() {}

func (x *DeleteRecordResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[31]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use DeleteRecordResponse.ProtoReflect.Descriptor instead.
func (*DeleteRecordResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{31}
}

func (x *DeleteRecordResponse) GetDeleted() bool {
	if x != nil {
		return x.Deleted
	}
	return false
}

// Which locks to take, and how many. The server gives leases on up to max_leases locks that are free and due (their
// not_before has passed), have attempts left and have a wanted status: longest due first, then by the bytes of their
// names. Each is an ordinary lease on one permit, with its own fencing token, and ends on its own. Two callers never
// get the same lock. Capture never passes a waiter.
//
// The order holds among up to 500 folders and statuses. If there are more, the server looks at some hundreds together,
// then at the next ones. A call stops after thousands of locks that it cannot have (other names of a folder, paused
// locks, locks that another transaction holds). Later calls for the same locks continue from there, once around, so
// that nothing stays hidden behind others.
type CaptureRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one must be set.
	//
	// Types that are valid to be assigned to From:
	//
	//	*CaptureRequest_Prefix
	//	*CaptureRequest_Names
	From isCaptureRequest_From `protobuf_oneof:"from"`
	// The most leases to take, 1 to 100; required.
	MaxLeases uint32 `protobuf:"varint,3,opt,name=max_leases,json=maxLeases,proto3" json:"max_leases,omitempty"`
	// The wanted statuses: see AcquireRequest.if_status. Empty: any status.
	IfStatus []string `protobuf:"bytes,4,rep,name=if_status,json=ifStatus,proto3" json:"if_status,omitempty"`
	// Time to live of each lease, 1 s to 24 days; 30 s if unset.
	Ttl *durationpb.Duration `protobuf:"bytes,5,opt,name=ttl,proto3" json:"ttl,omitempty"`
	// The caller's own id for this request, up to 120 bytes. The same id always returns the same leases while they are
	// held, and none after they have ended: see CaptureResponse.is_repeated. Must not begin with NUL. If empty, the call
	// is not safe to repeat.
	RequestId string `protobuf:"bytes,6,opt,name=request_id,json=requestId,proto3" json:"request_id,omitempty"`
	// Who asks, for people who look at the locks; up to 255 bytes.
	Owner string `protobuf:"bytes,7,opt,name=owner,proto3" json:"owner,omitempty"`
	// What else they should see; bounds as for AcquireRequest.labels.
	Labels map[string]string `protobuf:"bytes,8,rep,name=labels,proto3" json:"labels,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	// If there is no lock to take: how long to wait for one, 1 ms to 24 days. Unset: not at all. The wait has no place in
	// a queue, so a later call may be served first. Leases after a wait are provisional: see Lease.
	MaxWait *durationpb.Duration `protobuf:"bytes,9,opt,name=max_wait,json=maxWait,proto3" json:"max_wait,omitempty"`
	// See AcquireRequest, for each lease.
	MinInterval *durationpb.Duration `protobuf:"bytes,10,opt,name=min_interval,json=minInterval,proto3" json:"min_interval,omitempty"`
	// See AcquireRequest, for each lease.
	LockDelay *durationpb.Duration `protobuf:"bytes,11,opt,name=lock_delay,json=lockDelay,proto3" json:"lock_delay,omitempty"`
	// See AcquireRequest, for each lease.
	StatusIfLost  *string `protobuf:"bytes,12,opt,name=status_if_lost,json=statusIfLost,proto3,oneof" json:"status_if_lost,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *CaptureRequest) Reset() {
	*x = CaptureRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[32]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *CaptureRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*CaptureRequest) ProtoMessage() {}

func (x *CaptureRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[32]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use CaptureRequest.ProtoReflect.Descriptor instead.
func (*CaptureRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{32}
}

func (x *CaptureRequest) GetFrom() isCaptureRequest_From {
	if x != nil {
		return x.From
	}
	return nil
}

func (x *CaptureRequest) GetPrefix() string {
	if x != nil {
		if x, ok := x.From.(*CaptureRequest_Prefix); ok {
			return x.Prefix
		}
	}
	return ""
}

func (x *CaptureRequest) GetNames() *LockNames {
	if x != nil {
		if x, ok := x.From.(*CaptureRequest_Names); ok {
			return x.Names
		}
	}
	return nil
}

func (x *CaptureRequest) GetMaxLeases() uint32 {
	if x != nil {
		return x.MaxLeases
	}
	return 0
}

func (x *CaptureRequest) GetIfStatus() []string {
	if x != nil {
		return x.IfStatus
	}
	return nil
}

func (x *CaptureRequest) GetTtl() *durationpb.Duration {
	if x != nil {
		return x.Ttl
	}
	return nil
}

func (x *CaptureRequest) GetRequestId() string {
	if x != nil {
		return x.RequestId
	}
	return ""
}

func (x *CaptureRequest) GetOwner() string {
	if x != nil {
		return x.Owner
	}
	return ""
}

func (x *CaptureRequest) GetLabels() map[string]string {
	if x != nil {
		return x.Labels
	}
	return nil
}

func (x *CaptureRequest) GetMaxWait() *durationpb.Duration {
	if x != nil {
		return x.MaxWait
	}
	return nil
}

func (x *CaptureRequest) GetMinInterval() *durationpb.Duration {
	if x != nil {
		return x.MinInterval
	}
	return nil
}

func (x *CaptureRequest) GetLockDelay() *durationpb.Duration {
	if x != nil {
		return x.LockDelay
	}
	return nil
}

func (x *CaptureRequest) GetStatusIfLost() string {
	if x != nil && x.StatusIfLost != nil {
		return *x.StatusIfLost
	}
	return ""
}

type isCaptureRequest_From interface {
	isCaptureRequest_From()
}

type CaptureRequest_Prefix struct {
	// Locks with a record whose names begin with these bytes, at most 255; empty: all.
	Prefix string `protobuf:"bytes,1,opt,name=prefix,proto3,oneof"`
}

type CaptureRequest_Names struct {
	// These locks, including names that nobody has used before.
	Names *LockNames `protobuf:"bytes,2,opt,name=names,proto3,oneof"`
}

func (*CaptureRequest_Prefix) isCaptureRequest_From() {}

func (*CaptureRequest_Names) isCaptureRequest_From() {}

// Names of locks.
type LockNames struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// 1 to 1,000 different names of 1 to 255 bytes.
	Names         []string `protobuf:"bytes,1,rep,name=names,proto3" json:"names,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *LockNames) Reset() {
	*x = LockNames{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[33]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *LockNames) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*LockNames) ProtoMessage() {}

func (x *LockNames) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[33]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use LockNames.ProtoReflect.Descriptor instead.
func (*LockNames) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{33}
}

func (x *LockNames) GetNames() []string {
	if x != nil {
		return x.Names
	}
	return nil
}

// The leases that the call took.
type CaptureResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Longest due first; empty if there was nothing to take, which is an answer and not an error.
	Leases []*Lease `protobuf:"bytes,1,rep,name=leases,proto3" json:"leases,omitempty"`
	// If leases is empty: when to try again, if the server knows. 0: this call did not look at all locks, and the next
	// call continues from there.
	RetryAfter *durationpb.Duration `protobuf:"bytes,2,opt,name=retry_after,json=retryAfter,proto3" json:"retry_after,omitempty"`
	// An earlier call with this request_id took leases; `leases` has those that are still held. The id never gets others,
	// so such an answer comes at once, whatever max_wait is. To take more, use another request_id.
	IsRepeated    bool `protobuf:"varint,3,opt,name=is_repeated,json=isRepeated,proto3" json:"is_repeated,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *CaptureResponse) Reset() {
	*x = CaptureResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[34]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *CaptureResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*CaptureResponse) ProtoMessage() {}

func (x *CaptureResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[34]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use CaptureResponse.ProtoReflect.Descriptor instead.
func (*CaptureResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{34}
}

func (x *CaptureResponse) GetLeases() []*Lease {
	if x != nil {
		return x.Leases
	}
	return nil
}

func (x *CaptureResponse) GetRetryAfter() *durationpb.Duration {
	if x != nil {
		return x.RetryAfter
	}
	return nil
}

func (x *CaptureResponse) GetIsRepeated() bool {
	if x != nil {
		return x.IsRepeated
	}
	return false
}

// A message from the client in a session.
type SessionRequest struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// In the first request only.
	Open *SessionOpen `protobuf:"bytes,1,opt,name=open,proto3" json:"open,omitempty"`
	// Commands, as many as fit.
	Commands []*SessionCommand `protobuf:"bytes,2,rep,name=commands,proto3" json:"commands,omitempty"`
	// The number of responses that the client has received; it never falls. A client that has received a provisional
	// lease acknowledges it within a second, by an empty request if it has nothing else to send. The server answers each
	// request, an empty request with an empty response, so that the client knows that the server is there.
	Received      uint64 `protobuf:"varint,3,opt,name=received,proto3" json:"received,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SessionRequest) Reset() {
	*x = SessionRequest{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[35]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SessionRequest) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SessionRequest) ProtoMessage() {}

func (x *SessionRequest) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[35]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SessionRequest.ProtoReflect.Descriptor instead.
func (*SessionRequest) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{35}
}

func (x *SessionRequest) GetOpen() *SessionOpen {
	if x != nil {
		return x.Open
	}
	return nil
}

func (x *SessionRequest) GetCommands() []*SessionCommand {
	if x != nil {
		return x.Commands
	}
	return nil
}

func (x *SessionRequest) GetReceived() uint64 {
	if x != nil {
		return x.Received
	}
	return 0
}

// Who opens the session.
type SessionOpen struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The owner of claims whose Acquire or Capture names none; up to 255 bytes.
	Owner string `protobuf:"bytes,1,opt,name=owner,proto3" json:"owner,omitempty"`
	// Labels for all claims of this session. The labels of an Acquire or Capture are added; if both have a key, the
	// value of the Acquire or Capture applies. The bounds of AcquireRequest.labels apply to both together.
	Labels        map[string]string `protobuf:"bytes,2,rep,name=labels,proto3" json:"labels,omitempty" protobuf_key:"bytes,1,opt,name=key" protobuf_val:"bytes,2,opt,name=value"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SessionOpen) Reset() {
	*x = SessionOpen{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[36]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SessionOpen) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SessionOpen) ProtoMessage() {}

func (x *SessionOpen) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[36]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SessionOpen.ProtoReflect.Descriptor instead.
func (*SessionOpen) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{36}
}

func (x *SessionOpen) GetOwner() string {
	if x != nil {
		return x.Owner
	}
	return ""
}

func (x *SessionOpen) GetLabels() map[string]string {
	if x != nil {
		return x.Labels
	}
	return nil
}

// One command.
type SessionCommand struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The call's number: not 0 and not the number of an open call; otherwise the command is `rejected`.
	Call uint64 `protobuf:"varint,1,opt,name=call,proto3" json:"call,omitempty"`
	// How long to try, 1 ms to 24 days; unset: without end. Then the call ends with DEADLINE_EXCEEDED TIMEOUT. It bounds
	// the call, not the place: see AcquireRequest.max_wait.
	Timeout *durationpb.Duration `protobuf:"bytes,2,opt,name=timeout,proto3" json:"timeout,omitempty"`
	// The caller's W3C trace context, as the `traceparent` that other calls send as metadata; empty: none. It changes nothing
	// but traces, and a malformed one is ignored.
	Traceparent string `protobuf:"bytes,21,opt,name=traceparent,proto3" json:"traceparent,omitempty"`
	// Exactly one must be set.
	//
	// Types that are valid to be assigned to Command:
	//
	//	*SessionCommand_Acquire
	//	*SessionCommand_WaitInQueue
	//	*SessionCommand_Renew
	//	*SessionCommand_RenewLeases
	//	*SessionCommand_Release
	//	*SessionCommand_SetLimit
	//	*SessionCommand_GetLock
	//	*SessionCommand_ListLocks
	//	*SessionCommand_ListLimits
	//	*SessionCommand_ForceRelease
	//	*SessionCommand_WatchLocks
	//	*SessionCommand_Cancel
	//	*SessionCommand_UpdateRecord
	//	*SessionCommand_DeleteRecord
	//	*SessionCommand_Capture
	//	*SessionCommand_ListClaims
	//	*SessionCommand_ListChanges
	//	*SessionCommand_ExplainWait
	Command       isSessionCommand_Command `protobuf_oneof:"command"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SessionCommand) Reset() {
	*x = SessionCommand{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[37]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SessionCommand) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SessionCommand) ProtoMessage() {}

func (x *SessionCommand) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[37]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SessionCommand.ProtoReflect.Descriptor instead.
func (*SessionCommand) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{37}
}

func (x *SessionCommand) GetCall() uint64 {
	if x != nil {
		return x.Call
	}
	return 0
}

func (x *SessionCommand) GetTimeout() *durationpb.Duration {
	if x != nil {
		return x.Timeout
	}
	return nil
}

func (x *SessionCommand) GetTraceparent() string {
	if x != nil {
		return x.Traceparent
	}
	return ""
}

func (x *SessionCommand) GetCommand() isSessionCommand_Command {
	if x != nil {
		return x.Command
	}
	return nil
}

func (x *SessionCommand) GetAcquire() *AcquireRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_Acquire); ok {
			return x.Acquire
		}
	}
	return nil
}

func (x *SessionCommand) GetWaitInQueue() *WaitInQueueRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_WaitInQueue); ok {
			return x.WaitInQueue
		}
	}
	return nil
}

func (x *SessionCommand) GetRenew() *RenewRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_Renew); ok {
			return x.Renew
		}
	}
	return nil
}

func (x *SessionCommand) GetRenewLeases() *RenewLeases {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_RenewLeases); ok {
			return x.RenewLeases
		}
	}
	return nil
}

func (x *SessionCommand) GetRelease() *ReleaseRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_Release); ok {
			return x.Release
		}
	}
	return nil
}

func (x *SessionCommand) GetSetLimit() *SetLimitRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_SetLimit); ok {
			return x.SetLimit
		}
	}
	return nil
}

func (x *SessionCommand) GetGetLock() *GetLockRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_GetLock); ok {
			return x.GetLock
		}
	}
	return nil
}

func (x *SessionCommand) GetListLocks() *ListLocksRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_ListLocks); ok {
			return x.ListLocks
		}
	}
	return nil
}

func (x *SessionCommand) GetListLimits() *ListLimitsRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_ListLimits); ok {
			return x.ListLimits
		}
	}
	return nil
}

func (x *SessionCommand) GetForceRelease() *ForceReleaseRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_ForceRelease); ok {
			return x.ForceRelease
		}
	}
	return nil
}

func (x *SessionCommand) GetWatchLocks() *WatchLocksRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_WatchLocks); ok {
			return x.WatchLocks
		}
	}
	return nil
}

func (x *SessionCommand) GetCancel() uint64 {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_Cancel); ok {
			return x.Cancel
		}
	}
	return 0
}

func (x *SessionCommand) GetUpdateRecord() *UpdateRecordRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_UpdateRecord); ok {
			return x.UpdateRecord
		}
	}
	return nil
}

func (x *SessionCommand) GetDeleteRecord() *DeleteRecordRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_DeleteRecord); ok {
			return x.DeleteRecord
		}
	}
	return nil
}

func (x *SessionCommand) GetCapture() *CaptureRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_Capture); ok {
			return x.Capture
		}
	}
	return nil
}

func (x *SessionCommand) GetListClaims() *ListClaimsRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_ListClaims); ok {
			return x.ListClaims
		}
	}
	return nil
}

func (x *SessionCommand) GetListChanges() *ListChangesRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_ListChanges); ok {
			return x.ListChanges
		}
	}
	return nil
}

func (x *SessionCommand) GetExplainWait() *ExplainWaitRequest {
	if x != nil {
		if x, ok := x.Command.(*SessionCommand_ExplainWait); ok {
			return x.ExplainWait
		}
	}
	return nil
}

type isSessionCommand_Command interface {
	isSessionCommand_Command()
}

type SessionCommand_Acquire struct {
	// Like the unary method. WHEN_BUSY_WAIT waits in the session.
	Acquire *AcquireRequest `protobuf:"bytes,3,opt,name=acquire,proto3,oneof"`
}

type SessionCommand_WaitInQueue struct {
	// Like the streaming method.
	WaitInQueue *WaitInQueueRequest `protobuf:"bytes,4,opt,name=wait_in_queue,json=waitInQueue,proto3,oneof"`
}

type SessionCommand_Renew struct {
	// One lease.
	Renew *RenewRequest `protobuf:"bytes,5,opt,name=renew,proto3,oneof"`
}

type SessionCommand_RenewLeases struct {
	// Many leases.
	RenewLeases *RenewLeases `protobuf:"bytes,6,opt,name=renew_leases,json=renewLeases,proto3,oneof"`
}

type SessionCommand_Release struct {
	// Like the unary method.
	Release *ReleaseRequest `protobuf:"bytes,7,opt,name=release,proto3,oneof"`
}

type SessionCommand_SetLimit struct {
	// Like the unary method.
	SetLimit *SetLimitRequest `protobuf:"bytes,8,opt,name=set_limit,json=setLimit,proto3,oneof"`
}

type SessionCommand_GetLock struct {
	// Like the unary method.
	GetLock *GetLockRequest `protobuf:"bytes,9,opt,name=get_lock,json=getLock,proto3,oneof"`
}

type SessionCommand_ListLocks struct {
	// Like the unary method.
	ListLocks *ListLocksRequest `protobuf:"bytes,10,opt,name=list_locks,json=listLocks,proto3,oneof"`
}

type SessionCommand_ListLimits struct {
	// Like the unary method.
	ListLimits *ListLimitsRequest `protobuf:"bytes,11,opt,name=list_limits,json=listLimits,proto3,oneof"`
}

type SessionCommand_ForceRelease struct {
	// Like the unary method.
	ForceRelease *ForceReleaseRequest `protobuf:"bytes,12,opt,name=force_release,json=forceRelease,proto3,oneof"`
}

type SessionCommand_WatchLocks struct {
	// Like the streaming method. It counts as a wait, and lasts until the client cancels it.
	WatchLocks *WatchLocksRequest `protobuf:"bytes,17,opt,name=watch_locks,json=watchLocks,proto3,oneof"`
}

type SessionCommand_Cancel struct {
	// Ends the open call with this number with CANCELLED; does nothing if there is none. A cancel has the call number 0
	// and no result. A place is kept for the grace period; Release gives it up.
	Cancel uint64 `protobuf:"varint,13,opt,name=cancel,proto3,oneof"`
}

type SessionCommand_UpdateRecord struct {
	// Like the unary method.
	UpdateRecord *UpdateRecordRequest `protobuf:"bytes,14,opt,name=update_record,json=updateRecord,proto3,oneof"`
}

type SessionCommand_DeleteRecord struct {
	// Like the unary method.
	DeleteRecord *DeleteRecordRequest `protobuf:"bytes,15,opt,name=delete_record,json=deleteRecord,proto3,oneof"`
}

type SessionCommand_Capture struct {
	// Like the unary method. With max_wait it counts as a wait.
	Capture *CaptureRequest `protobuf:"bytes,16,opt,name=capture,proto3,oneof"`
}

type SessionCommand_ListClaims struct {
	// Like the unary method.
	ListClaims *ListClaimsRequest `protobuf:"bytes,18,opt,name=list_claims,json=listClaims,proto3,oneof"`
}

type SessionCommand_ListChanges struct {
	// Like the unary method.
	ListChanges *ListChangesRequest `protobuf:"bytes,19,opt,name=list_changes,json=listChanges,proto3,oneof"`
}

type SessionCommand_ExplainWait struct {
	// Like the unary method.
	ExplainWait *ExplainWaitRequest `protobuf:"bytes,20,opt,name=explain_wait,json=explainWait,proto3,oneof"`
}

func (*SessionCommand_Acquire) isSessionCommand_Command() {}

func (*SessionCommand_WaitInQueue) isSessionCommand_Command() {}

func (*SessionCommand_Renew) isSessionCommand_Command() {}

func (*SessionCommand_RenewLeases) isSessionCommand_Command() {}

func (*SessionCommand_Release) isSessionCommand_Command() {}

func (*SessionCommand_SetLimit) isSessionCommand_Command() {}

func (*SessionCommand_GetLock) isSessionCommand_Command() {}

func (*SessionCommand_ListLocks) isSessionCommand_Command() {}

func (*SessionCommand_ListLimits) isSessionCommand_Command() {}

func (*SessionCommand_ForceRelease) isSessionCommand_Command() {}

func (*SessionCommand_WatchLocks) isSessionCommand_Command() {}

func (*SessionCommand_Cancel) isSessionCommand_Command() {}

func (*SessionCommand_UpdateRecord) isSessionCommand_Command() {}

func (*SessionCommand_DeleteRecord) isSessionCommand_Command() {}

func (*SessionCommand_Capture) isSessionCommand_Command() {}

func (*SessionCommand_ListClaims) isSessionCommand_Command() {}

func (*SessionCommand_ListChanges) isSessionCommand_Command() {}

func (*SessionCommand_ExplainWait) isSessionCommand_Command() {}

// Which leases to renew together.
type RenewLeases struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// 1 to 1,000.
	Leases        []*RenewRequest `protobuf:"bytes,1,rep,name=leases,proto3" json:"leases,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *RenewLeases) Reset() {
	*x = RenewLeases{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[38]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *RenewLeases) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*RenewLeases) ProtoMessage() {}

func (x *RenewLeases) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[38]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use RenewLeases.ProtoReflect.Descriptor instead.
func (*RenewLeases) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{38}
}

func (x *RenewLeases) GetLeases() []*RenewRequest {
	if x != nil {
		return x.Leases
	}
	return nil
}

// The outcome for each, in the order of the request. A lock whose rows another transaction holds does not delay the others:
// its outcome is DATABASE_UNAVAILABLE half a second after the first lease was renewed. Its lease may be renewed all the same;
// ask again.
type RenewedLeases struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// One for each.
	Leases        []*RenewedLease `protobuf:"bytes,1,rep,name=leases,proto3" json:"leases,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *RenewedLeases) Reset() {
	*x = RenewedLeases{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[39]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *RenewedLeases) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*RenewedLeases) ProtoMessage() {}

func (x *RenewedLeases) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[39]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use RenewedLeases.ProtoReflect.Descriptor instead.
func (*RenewedLeases) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{39}
}

func (x *RenewedLeases) GetLeases() []*RenewedLease {
	if x != nil {
		return x.Leases
	}
	return nil
}

// The outcome for one.
type RenewedLease struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Exactly one is set.
	//
	// Types that are valid to be assigned to Outcome:
	//
	//	*RenewedLease_Lease
	//	*RenewedLease_Error
	Outcome       isRenewedLease_Outcome `protobuf_oneof:"outcome"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *RenewedLease) Reset() {
	*x = RenewedLease{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[40]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *RenewedLease) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*RenewedLease) ProtoMessage() {}

func (x *RenewedLease) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[40]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use RenewedLease.ProtoReflect.Descriptor instead.
func (*RenewedLease) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{40}
}

func (x *RenewedLease) GetOutcome() isRenewedLease_Outcome {
	if x != nil {
		return x.Outcome
	}
	return nil
}

func (x *RenewedLease) GetLease() *Lease {
	if x != nil {
		if x, ok := x.Outcome.(*RenewedLease_Lease); ok {
			return x.Lease
		}
	}
	return nil
}

func (x *RenewedLease) GetError() *status.Status {
	if x != nil {
		if x, ok := x.Outcome.(*RenewedLease_Error); ok {
			return x.Error
		}
	}
	return nil
}

type isRenewedLease_Outcome interface {
	isRenewedLease_Outcome()
}

type RenewedLease_Lease struct {
	// With its new remaining time.
	Lease *Lease `protobuf:"bytes,1,opt,name=lease,proto3,oneof"`
}

type RenewedLease_Error struct {
	// Why not: LEASE_LOST, NOT_GRANTED_YET, UNKNOWN_CLAIM, DATABASE_UNAVAILABLE, ...
	Error *status.Status `protobuf:"bytes,2,opt,name=error,proto3,oneof"`
}

func (*RenewedLease_Lease) isRenewedLease_Outcome() {}

func (*RenewedLease_Error) isRenewedLease_Outcome() {}

// A message from the server in a session.
type SessionResponse struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// In the first response.
	Opened *SessionOpened `protobuf:"bytes,1,opt,name=opened,proto3" json:"opened,omitempty"`
	// Results of commands.
	Results []*SessionResult `protobuf:"bytes,2,rep,name=results,proto3" json:"results,omitempty"`
	// The number of requests that the server had received when it began this response. The ttl of its leases counts from
	// then or later.
	Heard uint64 `protobuf:"varint,3,opt,name=heard,proto3" json:"heard,omitempty"`
	// Leases of this session that have ended without a Release in it. Sent as soon as this server knows: at once if it
	// ended them itself; if another server did, with the next Renew at the latest.
	Lost []*LostLease `protobuf:"bytes,4,rep,name=lost,proto3" json:"lost,omitempty"`
	// Leases that the client has acknowledged and that are no longer provisional, except those that it has renewed
	// itself.
	Confirmed []*Lease `protobuf:"bytes,5,rep,name=confirmed,proto3" json:"confirmed,omitempty"`
	// The server stops, or it has lost its database and another server has not: open a session at another server. Never
	// withdrawn.
	GoingAway     bool `protobuf:"varint,6,opt,name=going_away,json=goingAway,proto3" json:"going_away,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SessionResponse) Reset() {
	*x = SessionResponse{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[41]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SessionResponse) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SessionResponse) ProtoMessage() {}

func (x *SessionResponse) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[41]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SessionResponse.ProtoReflect.Descriptor instead.
func (*SessionResponse) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{41}
}

func (x *SessionResponse) GetOpened() *SessionOpened {
	if x != nil {
		return x.Opened
	}
	return nil
}

func (x *SessionResponse) GetResults() []*SessionResult {
	if x != nil {
		return x.Results
	}
	return nil
}

func (x *SessionResponse) GetHeard() uint64 {
	if x != nil {
		return x.Heard
	}
	return 0
}

func (x *SessionResponse) GetLost() []*LostLease {
	if x != nil {
		return x.Lost
	}
	return nil
}

func (x *SessionResponse) GetConfirmed() []*Lease {
	if x != nil {
		return x.Confirmed
	}
	return nil
}

func (x *SessionResponse) GetGoingAway() bool {
	if x != nil {
		return x.GoingAway
	}
	return false
}

// The terms of this session.
type SessionOpened struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The server, as its log and metrics name it.
	Replica string `protobuf:"bytes,1,opt,name=replica,proto3" json:"replica,omitempty"`
	// The client sends something at least this often.
	HeartbeatInterval *durationpb.Duration `protobuf:"bytes,2,opt,name=heartbeat_interval,json=heartbeatInterval,proto3" json:"heartbeat_interval,omitempty"`
	// The server ends a session whose client is silent for longer.
	SilenceMax *durationpb.Duration `protobuf:"bytes,3,opt,name=silence_max,json=silenceMax,proto3" json:"silence_max,omitempty"`
	// How long the server keeps a place after the session is gone.
	GracePeriod *durationpb.Duration `protobuf:"bytes,4,opt,name=grace_period,json=gracePeriod,proto3" json:"grace_period,omitempty"`
	// Waits that may be open at once.
	WaitsMax uint32 `protobuf:"varint,5,opt,name=waits_max,json=waitsMax,proto3" json:"waits_max,omitempty"`
	// Other commands that may be under way at once.
	CommandsMax uint32 `protobuf:"varint,6,opt,name=commands_max,json=commandsMax,proto3" json:"commands_max,omitempty"`
	// The most bytes of one request; a larger one ends the session.
	MessageBytesMax uint32 `protobuf:"varint,7,opt,name=message_bytes_max,json=messageBytesMax,proto3" json:"message_bytes_max,omitempty"`
	unknownFields   protoimpl.UnknownFields
	sizeCache       protoimpl.SizeCache
}

func (x *SessionOpened) Reset() {
	*x = SessionOpened{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[42]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SessionOpened) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SessionOpened) ProtoMessage() {}

func (x *SessionOpened) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[42]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SessionOpened.ProtoReflect.Descriptor instead.
func (*SessionOpened) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{42}
}

func (x *SessionOpened) GetReplica() string {
	if x != nil {
		return x.Replica
	}
	return ""
}

func (x *SessionOpened) GetHeartbeatInterval() *durationpb.Duration {
	if x != nil {
		return x.HeartbeatInterval
	}
	return nil
}

func (x *SessionOpened) GetSilenceMax() *durationpb.Duration {
	if x != nil {
		return x.SilenceMax
	}
	return nil
}

func (x *SessionOpened) GetGracePeriod() *durationpb.Duration {
	if x != nil {
		return x.GracePeriod
	}
	return nil
}

func (x *SessionOpened) GetWaitsMax() uint32 {
	if x != nil {
		return x.WaitsMax
	}
	return 0
}

func (x *SessionOpened) GetCommandsMax() uint32 {
	if x != nil {
		return x.CommandsMax
	}
	return 0
}

func (x *SessionOpened) GetMessageBytesMax() uint32 {
	if x != nil {
		return x.MessageBytesMax
	}
	return 0
}

// One result of one call.
type SessionResult struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// The call.
	Call uint64 `protobuf:"varint,1,opt,name=call,proto3" json:"call,omitempty"`
	// Exactly one is set. Each is the last result of its call, except for a position in the queue and the messages of a
	// watch.
	//
	// Types that are valid to be assigned to Result:
	//
	//	*SessionResult_Acquire
	//	*SessionResult_WaitInQueue
	//	*SessionResult_Renew
	//	*SessionResult_RenewLeases
	//	*SessionResult_Release
	//	*SessionResult_SetLimit
	//	*SessionResult_GetLock
	//	*SessionResult_ListLocks
	//	*SessionResult_ListLimits
	//	*SessionResult_ForceRelease
	//	*SessionResult_WatchLocks
	//	*SessionResult_Error
	//	*SessionResult_Rejected
	//	*SessionResult_UpdateRecord
	//	*SessionResult_DeleteRecord
	//	*SessionResult_Capture
	//	*SessionResult_ListClaims
	//	*SessionResult_ListChanges
	//	*SessionResult_ExplainWait
	Result        isSessionResult_Result `protobuf_oneof:"result"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *SessionResult) Reset() {
	*x = SessionResult{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[43]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *SessionResult) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*SessionResult) ProtoMessage() {}

func (x *SessionResult) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[43]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use SessionResult.ProtoReflect.Descriptor instead.
func (*SessionResult) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{43}
}

func (x *SessionResult) GetCall() uint64 {
	if x != nil {
		return x.Call
	}
	return 0
}

func (x *SessionResult) GetResult() isSessionResult_Result {
	if x != nil {
		return x.Result
	}
	return nil
}

func (x *SessionResult) GetAcquire() *AcquireResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_Acquire); ok {
			return x.Acquire
		}
	}
	return nil
}

func (x *SessionResult) GetWaitInQueue() *WaitInQueueResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_WaitInQueue); ok {
			return x.WaitInQueue
		}
	}
	return nil
}

func (x *SessionResult) GetRenew() *RenewResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_Renew); ok {
			return x.Renew
		}
	}
	return nil
}

func (x *SessionResult) GetRenewLeases() *RenewedLeases {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_RenewLeases); ok {
			return x.RenewLeases
		}
	}
	return nil
}

func (x *SessionResult) GetRelease() *ReleaseResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_Release); ok {
			return x.Release
		}
	}
	return nil
}

func (x *SessionResult) GetSetLimit() *SetLimitResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_SetLimit); ok {
			return x.SetLimit
		}
	}
	return nil
}

func (x *SessionResult) GetGetLock() *GetLockResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_GetLock); ok {
			return x.GetLock
		}
	}
	return nil
}

func (x *SessionResult) GetListLocks() *ListLocksResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_ListLocks); ok {
			return x.ListLocks
		}
	}
	return nil
}

func (x *SessionResult) GetListLimits() *ListLimitsResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_ListLimits); ok {
			return x.ListLimits
		}
	}
	return nil
}

func (x *SessionResult) GetForceRelease() *ForceReleaseResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_ForceRelease); ok {
			return x.ForceRelease
		}
	}
	return nil
}

func (x *SessionResult) GetWatchLocks() *WatchLocksResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_WatchLocks); ok {
			return x.WatchLocks
		}
	}
	return nil
}

func (x *SessionResult) GetError() *status.Status {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_Error); ok {
			return x.Error
		}
	}
	return nil
}

func (x *SessionResult) GetRejected() *status.Status {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_Rejected); ok {
			return x.Rejected
		}
	}
	return nil
}

func (x *SessionResult) GetUpdateRecord() *UpdateRecordResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_UpdateRecord); ok {
			return x.UpdateRecord
		}
	}
	return nil
}

func (x *SessionResult) GetDeleteRecord() *DeleteRecordResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_DeleteRecord); ok {
			return x.DeleteRecord
		}
	}
	return nil
}

func (x *SessionResult) GetCapture() *CaptureResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_Capture); ok {
			return x.Capture
		}
	}
	return nil
}

func (x *SessionResult) GetListClaims() *ListClaimsResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_ListClaims); ok {
			return x.ListClaims
		}
	}
	return nil
}

func (x *SessionResult) GetListChanges() *ListChangesResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_ListChanges); ok {
			return x.ListChanges
		}
	}
	return nil
}

func (x *SessionResult) GetExplainWait() *ExplainWaitResponse {
	if x != nil {
		if x, ok := x.Result.(*SessionResult_ExplainWait); ok {
			return x.ExplainWait
		}
	}
	return nil
}

type isSessionResult_Result interface {
	isSessionResult_Result()
}

type SessionResult_Acquire struct {
	// Of acquire.
	Acquire *AcquireResponse `protobuf:"bytes,2,opt,name=acquire,proto3,oneof"`
}

type SessionResult_WaitInQueue struct {
	// Of wait_in_queue.
	WaitInQueue *WaitInQueueResponse `protobuf:"bytes,3,opt,name=wait_in_queue,json=waitInQueue,proto3,oneof"`
}

type SessionResult_Renew struct {
	// Of renew.
	Renew *RenewResponse `protobuf:"bytes,4,opt,name=renew,proto3,oneof"`
}

type SessionResult_RenewLeases struct {
	// Of renew_leases.
	RenewLeases *RenewedLeases `protobuf:"bytes,5,opt,name=renew_leases,json=renewLeases,proto3,oneof"`
}

type SessionResult_Release struct {
	// Of release.
	Release *ReleaseResponse `protobuf:"bytes,6,opt,name=release,proto3,oneof"`
}

type SessionResult_SetLimit struct {
	// Of set_limit.
	SetLimit *SetLimitResponse `protobuf:"bytes,7,opt,name=set_limit,json=setLimit,proto3,oneof"`
}

type SessionResult_GetLock struct {
	// Of get_lock.
	GetLock *GetLockResponse `protobuf:"bytes,8,opt,name=get_lock,json=getLock,proto3,oneof"`
}

type SessionResult_ListLocks struct {
	// Of list_locks.
	ListLocks *ListLocksResponse `protobuf:"bytes,9,opt,name=list_locks,json=listLocks,proto3,oneof"`
}

type SessionResult_ListLimits struct {
	// Of list_limits.
	ListLimits *ListLimitsResponse `protobuf:"bytes,10,opt,name=list_limits,json=listLimits,proto3,oneof"`
}

type SessionResult_ForceRelease struct {
	// Of force_release.
	ForceRelease *ForceReleaseResponse `protobuf:"bytes,11,opt,name=force_release,json=forceRelease,proto3,oneof"`
}

type SessionResult_WatchLocks struct {
	// Of watch_locks.
	WatchLocks *WatchLocksResponse `protobuf:"bytes,17,opt,name=watch_locks,json=watchLocks,proto3,oneof"`
}

type SessionResult_Error struct {
	// The call failed, with the code, message and details of a unary call.
	Error *status.Status `protobuf:"bytes,12,opt,name=error,proto3,oneof"`
}

type SessionResult_Rejected struct {
	// The server rejected a command because its number is 0 or belongs to an open call, which goes on.
	Rejected *status.Status `protobuf:"bytes,13,opt,name=rejected,proto3,oneof"`
}

type SessionResult_UpdateRecord struct {
	// Of update_record.
	UpdateRecord *UpdateRecordResponse `protobuf:"bytes,14,opt,name=update_record,json=updateRecord,proto3,oneof"`
}

type SessionResult_DeleteRecord struct {
	// Of delete_record.
	DeleteRecord *DeleteRecordResponse `protobuf:"bytes,15,opt,name=delete_record,json=deleteRecord,proto3,oneof"`
}

type SessionResult_Capture struct {
	// Of capture.
	Capture *CaptureResponse `protobuf:"bytes,16,opt,name=capture,proto3,oneof"`
}

type SessionResult_ListClaims struct {
	// Of list_claims.
	ListClaims *ListClaimsResponse `protobuf:"bytes,18,opt,name=list_claims,json=listClaims,proto3,oneof"`
}

type SessionResult_ListChanges struct {
	// Of list_changes.
	ListChanges *ListChangesResponse `protobuf:"bytes,19,opt,name=list_changes,json=listChanges,proto3,oneof"`
}

type SessionResult_ExplainWait struct {
	// Of explain_wait.
	ExplainWait *ExplainWaitResponse `protobuf:"bytes,20,opt,name=explain_wait,json=explainWait,proto3,oneof"`
}

func (*SessionResult_Acquire) isSessionResult_Result() {}

func (*SessionResult_WaitInQueue) isSessionResult_Result() {}

func (*SessionResult_Renew) isSessionResult_Result() {}

func (*SessionResult_RenewLeases) isSessionResult_Result() {}

func (*SessionResult_Release) isSessionResult_Result() {}

func (*SessionResult_SetLimit) isSessionResult_Result() {}

func (*SessionResult_GetLock) isSessionResult_Result() {}

func (*SessionResult_ListLocks) isSessionResult_Result() {}

func (*SessionResult_ListLimits) isSessionResult_Result() {}

func (*SessionResult_ForceRelease) isSessionResult_Result() {}

func (*SessionResult_WatchLocks) isSessionResult_Result() {}

func (*SessionResult_Error) isSessionResult_Result() {}

func (*SessionResult_Rejected) isSessionResult_Result() {}

func (*SessionResult_UpdateRecord) isSessionResult_Result() {}

func (*SessionResult_DeleteRecord) isSessionResult_Result() {}

func (*SessionResult_Capture) isSessionResult_Result() {}

func (*SessionResult_ListClaims) isSessionResult_Result() {}

func (*SessionResult_ListChanges) isSessionResult_Result() {}

func (*SessionResult_ExplainWait) isSessionResult_Result() {}

// A lease that is gone.
type LostLease struct {
	state protoimpl.MessageState `protogen:"open.v1"`
	// Which.
	LeaseId string `protobuf:"bytes,1,opt,name=lease_id,json=leaseId,proto3" json:"lease_id,omitempty"`
	// Its lock.
	LockName string `protobuf:"bytes,2,opt,name=lock_name,json=lockName,proto3" json:"lock_name,omitempty"`
	// How it ended: EXPIRED, FORCE_RELEASED, LAPSED, or RELEASED by somebody else who knew its id.
	Reason        RefusalReason `protobuf:"varint,3,opt,name=reason,proto3,enum=rowlock.v1.RefusalReason" json:"reason,omitempty"`
	unknownFields protoimpl.UnknownFields
	sizeCache     protoimpl.SizeCache
}

func (x *LostLease) Reset() {
	*x = LostLease{}
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[44]
	ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
	ms.StoreMessageInfo(mi)
}

func (x *LostLease) String() string {
	return protoimpl.X.MessageStringOf(x)
}

func (*LostLease) ProtoMessage() {}

func (x *LostLease) ProtoReflect() protoreflect.Message {
	mi := &file_rowlock_v1_lock_service_proto_msgTypes[44]
	if x != nil {
		ms := protoimpl.X.MessageStateOf(protoimpl.Pointer(x))
		if ms.LoadMessageInfo() == nil {
			ms.StoreMessageInfo(mi)
		}
		return ms
	}
	return mi.MessageOf(x)
}

// Deprecated: Use LostLease.ProtoReflect.Descriptor instead.
func (*LostLease) Descriptor() ([]byte, []int) {
	return file_rowlock_v1_lock_service_proto_rawDescGZIP(), []int{44}
}

func (x *LostLease) GetLeaseId() string {
	if x != nil {
		return x.LeaseId
	}
	return ""
}

func (x *LostLease) GetLockName() string {
	if x != nil {
		return x.LockName
	}
	return ""
}

func (x *LostLease) GetReason() RefusalReason {
	if x != nil {
		return x.Reason
	}
	return RefusalReason_REFUSAL_REASON_UNSPECIFIED
}

var File_rowlock_v1_lock_service_proto protoreflect.FileDescriptor

const file_rowlock_v1_lock_service_proto_rawDesc = "" +
	"\n" +
	"\x1drowlock/v1/lock_service.proto\x12\n" +
	"rowlock.v1\x1a\x1egoogle/protobuf/duration.proto\x1a\x1bgoogle/protobuf/empty.proto\x1a\x1fgoogle/protobuf/timestamp.proto\x1a\x17google/rpc/status.proto\x1a\x15rowlock/v1/lock.proto\"\x9a\x05\n" +
	"\x0eAcquireRequest\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12$\n" +
	"\x04mode\x18\x02 \x01(\x0e2\x10.rowlock.v1.ModeR\x04mode\x12\x18\n" +
	"\apermits\x18\x03 \x01(\rR\apermits\x12+\n" +
	"\x03ttl\x18\x04 \x01(\v2\x19.google.protobuf.DurationR\x03ttl\x12\x1b\n" +
	"\tno_expiry\x18\x05 \x01(\bR\bnoExpiry\x12\x1d\n" +
	"\n" +
	"request_id\x18\x06 \x01(\tR\trequestId\x12\x14\n" +
	"\x05owner\x18\a \x01(\tR\x05owner\x12>\n" +
	"\x06labels\x18\b \x03(\v2&.rowlock.v1.AcquireRequest.LabelsEntryR\x06labels\x121\n" +
	"\twhen_busy\x18\t \x01(\x0e2\x14.rowlock.v1.WhenBusyR\bwhenBusy\x124\n" +
	"\bmax_wait\x18\n" +
	" \x01(\v2\x19.google.protobuf.DurationR\amaxWait\x12<\n" +
	"\fmin_interval\x18\v \x01(\v2\x19.google.protobuf.DurationR\vminInterval\x128\n" +
	"\n" +
	"lock_delay\x18\f \x01(\v2\x19.google.protobuf.DurationR\tlockDelay\x12)\n" +
	"\x0estatus_if_lost\x18\r \x01(\tH\x00R\fstatusIfLost\x88\x01\x01\x12\x1b\n" +
	"\tif_status\x18\x0e \x03(\tR\bifStatus\x1a9\n" +
	"\vLabelsEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01B\x11\n" +
	"\x0f_status_if_lost\"\xa6\x01\n" +
	"\x0fAcquireResponse\x12)\n" +
	"\x05lease\x18\x01 \x01(\v2\x11.rowlock.v1.LeaseH\x00R\x05lease\x12,\n" +
	"\x06ticket\x18\x02 \x01(\v2\x12.rowlock.v1.TicketH\x00R\x06ticket\x12/\n" +
	"\arefusal\x18\x03 \x01(\v2\x13.rowlock.v1.RefusalH\x00R\arefusalB\t\n" +
	"\aoutcome\"\xc0\x01\n" +
	"\x12WaitInQueueRequest\x126\n" +
	"\aacquire\x18\x01 \x01(\v2\x1a.rowlock.v1.AcquireRequestH\x00R\aacquire\x12\x1d\n" +
	"\tticket_id\x18\x02 \x01(\tH\x00R\bticketId\x12I\n" +
	"\x13min_update_interval\x18\x03 \x01(\v2\x19.google.protobuf.DurationR\x11minUpdateIntervalB\b\n" +
	"\x06target\"\xad\x01\n" +
	"\x13WaitInQueueResponse\x120\n" +
	"\bposition\x18\x01 \x01(\v2\x12.rowlock.v1.TicketH\x00R\bposition\x12-\n" +
	"\agranted\x18\x02 \x01(\v2\x11.rowlock.v1.LeaseH\x00R\agranted\x12+\n" +
	"\x05ended\x18\x03 \x01(\v2\x13.rowlock.v1.RefusalH\x00R\x05endedB\b\n" +
	"\x06update\"V\n" +
	"\fRenewRequest\x12\x19\n" +
	"\blease_id\x18\x01 \x01(\tR\aleaseId\x12+\n" +
	"\x03ttl\x18\x02 \x01(\v2\x19.google.protobuf.DurationR\x03ttl\"8\n" +
	"\rRenewResponse\x12'\n" +
	"\x05lease\x18\x01 \x01(\v2\x11.rowlock.v1.LeaseR\x05lease\"\xc7\x01\n" +
	"\x0eReleaseRequest\x12\x19\n" +
	"\blease_id\x18\x01 \x01(\tR\aleaseId\x126\n" +
	"\tcool_down\x18\x02 \x01(\v2\x19.google.protobuf.DurationR\bcoolDown\x12\x1b\n" +
	"\x06status\x18\x03 \x01(\tH\x00R\x06status\x88\x01\x01\x12(\n" +
	"\rattempts_left\x18\x04 \x01(\rH\x01R\fattemptsLeft\x88\x01\x01B\t\n" +
	"\a_statusB\x10\n" +
	"\x0e_attempts_left\"-\n" +
	"\x0fReleaseResponse\x12\x1a\n" +
	"\breleased\x18\x01 \x01(\bR\breleased\"\x8a\x02\n" +
	"\x0fSetLimitRequest\x12\x14\n" +
	"\x04name\x18\x01 \x01(\tH\x00R\x04name\x12\x1a\n" +
	"\apattern\x18\x02 \x01(\tH\x00R\apattern\x12\x16\n" +
	"\x05limit\x18\x03 \x01(\rH\x01R\x05limit\x129\n" +
	"\vunset_limit\x18\x04 \x01(\v2\x16.google.protobuf.EmptyH\x01R\n" +
	"unsetLimit\x12.\n" +
	"\x10expected_version\x18\x05 \x01(\x04H\x02R\x0fexpectedVersion\x88\x01\x01\x12\x16\n" +
	"\x06reason\x18\x06 \x01(\tR\x06reasonB\b\n" +
	"\x06targetB\v\n" +
	"\tnew_limitB\x13\n" +
	"\x11_expected_version\"\xc2\x01\n" +
	"\x10SetLimitResponse\x12\x14\n" +
	"\x05limit\x18\x01 \x01(\rR\x05limit\x12\x18\n" +
	"\aversion\x18\x02 \x01(\x04R\aversion\x12!\n" +
	"\fheld_permits\x18\x03 \x01(\x04R\vheldPermits\x12\x18\n" +
	"\awaiting\x18\x04 \x01(\x04R\awaiting\x12\x1a\n" +
	"\bdraining\x18\x05 \x01(\bR\bdraining\x12%\n" +
	"\x0eservers_behind\x18\x06 \x01(\rR\rserversBehind\"$\n" +
	"\x0eGetLockRequest\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\"7\n" +
	"\x0fGetLockResponse\x12$\n" +
	"\x04lock\x18\x01 \x01(\v2\x10.rowlock.v1.LockR\x04lock\"\xb0\x01\n" +
	"\x10ListLocksRequest\x12\x16\n" +
	"\x06prefix\x18\x01 \x01(\tR\x06prefix\x12\x1b\n" +
	"\tpage_size\x18\x02 \x01(\x05R\bpageSize\x12\x1d\n" +
	"\n" +
	"page_token\x18\x03 \x01(\tR\tpageToken\x12\x1b\n" +
	"\tbusy_only\x18\x04 \x01(\bR\bbusyOnly\x12+\n" +
	"\x05order\x18\x05 \x01(\x0e2\x15.rowlock.v1.ListOrderR\x05order\"c\n" +
	"\x11ListLocksResponse\x12&\n" +
	"\x05locks\x18\x01 \x03(\v2\x10.rowlock.v1.LockR\x05locks\x12&\n" +
	"\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"+\n" +
	"\x11WatchLocksRequest\x12\x16\n" +
	"\x06prefix\x18\x01 \x01(\tR\x06prefix\"\x91\x01\n" +
	"\x12WatchLocksResponse\x12\x1d\n" +
	"\n" +
	"began_anew\x18\x01 \x01(\bR\tbeganAnew\x12&\n" +
	"\x05locks\x18\x02 \x03(\v2\x10.rowlock.v1.LockR\x05locks\x12\x18\n" +
	"\adeleted\x18\x03 \x03(\tR\adeleted\x12\x1a\n" +
	"\bcomplete\x18\x04 \x01(\bR\bcomplete\"g\n" +
	"\x11ListLimitsRequest\x12\x16\n" +
	"\x06prefix\x18\x01 \x01(\tR\x06prefix\x12\x1b\n" +
	"\tpage_size\x18\x02 \x01(\x05R\bpageSize\x12\x1d\n" +
	"\n" +
	"page_token\x18\x03 \x01(\tR\tpageToken\"\x92\x01\n" +
	"\fLimitSetting\x12\x14\n" +
	"\x04name\x18\x01 \x01(\tH\x00R\x04name\x12\x1a\n" +
	"\apattern\x18\x02 \x01(\tH\x00R\apattern\x12\x14\n" +
	"\x05limit\x18\x03 \x01(\rR\x05limit\x12\x18\n" +
	"\aversion\x18\x04 \x01(\x04R\aversion\x12\x16\n" +
	"\x06reason\x18\x05 \x01(\tR\x06reasonB\b\n" +
	"\x06target\"n\n" +
	"\x12ListLimitsResponse\x120\n" +
	"\x06limits\x18\x01 \x03(\v2\x18.rowlock.v1.LimitSettingR\x06limits\x12&\n" +
	"\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\"\xb9\x04\n" +
	"\x11ListClaimsRequest\x12\x1b\n" +
	"\tlock_name\x18\x01 \x01(\tR\blockName\x12\x16\n" +
	"\x06prefix\x18\x02 \x01(\tR\x06prefix\x12\x14\n" +
	"\x05owner\x18\x03 \x01(\tR\x05owner\x12\x1c\n" +
	"\tprincipal\x18\x04 \x01(\tR\tprincipal\x12A\n" +
	"\x06labels\x18\x05 \x03(\v2).rowlock.v1.ListClaimsRequest.LabelsEntryR\x06labels\x12.\n" +
	"\x06states\x18\x06 \x03(\x0e2\x16.rowlock.v1.ClaimStateR\x06states\x12:\n" +
	"\vend_reasons\x18\a \x03(\x0e2\x19.rowlock.v1.RefusalReasonR\n" +
	"endReasons\x12.\n" +
	"\x04from\x18\b \x01(\v2\x1a.google.protobuf.TimestampR\x04from\x120\n" +
	"\x05until\x18\t \x01(\v2\x1a.google.protobuf.TimestampR\x05until\x123\n" +
	"\aheld_at\x18\n" +
	" \x01(\v2\x1a.google.protobuf.TimestampR\x06heldAt\x12\x1b\n" +
	"\tpage_size\x18\v \x01(\x05R\bpageSize\x12\x1d\n" +
	"\n" +
	"page_token\x18\f \x01(\tR\tpageToken\x1a9\n" +
	"\vLabelsEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\"\xee\x01\n" +
	"\x12ListClaimsResponse\x12)\n" +
	"\x06claims\x18\x01 \x03(\v2\x11.rowlock.v1.ClaimR\x06claims\x12&\n" +
	"\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\x12D\n" +
	"\x10searched_back_to\x18\x03 \x01(\v2\x1a.google.protobuf.TimestampR\x0esearchedBackTo\x12?\n" +
	"\rcomplete_from\x18\x04 \x01(\v2\x1a.google.protobuf.TimestampR\fcompleteFrom\"\xb4\x02\n" +
	"\x12ListChangesRequest\x12\x1b\n" +
	"\tlock_name\x18\x01 \x01(\tR\blockName\x12\x16\n" +
	"\x06prefix\x18\x02 \x01(\tR\x06prefix\x12,\n" +
	"\x05kinds\x18\x03 \x03(\x0e2\x16.rowlock.v1.ChangeKindR\x05kinds\x12.\n" +
	"\x04from\x18\x04 \x01(\v2\x1a.google.protobuf.TimestampR\x04from\x120\n" +
	"\x05until\x18\x05 \x01(\v2\x1a.google.protobuf.TimestampR\x05until\x12\x1d\n" +
	"\n" +
	"changed_by\x18\x06 \x01(\tR\tchangedBy\x12\x1b\n" +
	"\tpage_size\x18\a \x01(\x05R\bpageSize\x12\x1d\n" +
	"\n" +
	"page_token\x18\b \x01(\tR\tpageToken\"\xf2\x01\n" +
	"\x13ListChangesResponse\x12,\n" +
	"\achanges\x18\x01 \x03(\v2\x12.rowlock.v1.ChangeR\achanges\x12&\n" +
	"\x0fnext_page_token\x18\x02 \x01(\tR\rnextPageToken\x12D\n" +
	"\x10searched_back_to\x18\x03 \x01(\v2\x1a.google.protobuf.TimestampR\x0esearchedBackTo\x12?\n" +
	"\rcomplete_from\x18\x04 \x01(\v2\x1a.google.protobuf.TimestampR\fcompleteFrom\"\x87\x01\n" +
	"\x12ExplainWaitRequest\x12\x14\n" +
	"\x04name\x18\x01 \x01(\tH\x00R\x04name\x12\x1d\n" +
	"\tticket_id\x18\x02 \x01(\tH\x00R\bticketId\x122\n" +
	"\x05claim\x18\x03 \x01(\v2\x1a.rowlock.v1.ClaimReferenceH\x00R\x05claimB\b\n" +
	"\x06target\"\xe3\x01\n" +
	"\x13ExplainWaitResponse\x12$\n" +
	"\x04lock\x18\x01 \x01(\v2\x10.rowlock.v1.LockR\x04lock\x12'\n" +
	"\x05claim\x18\x02 \x01(\v2\x11.rowlock.v1.ClaimR\x05claim\x12-\n" +
	"\x06causes\x18\x03 \x03(\v2\x15.rowlock.v1.WaitCauseR\x06causes\x12\x18\n" +
	"\asummary\x18\x04 \x01(\tR\asummary\x124\n" +
	"\bestimate\x18\x05 \x01(\v2\x18.rowlock.v1.WaitEstimateR\bestimate\"R\n" +
	"\x0eClaimReference\x12\x1b\n" +
	"\tlock_name\x18\x01 \x01(\tR\blockName\x12#\n" +
	"\rticket_number\x18\x02 \x01(\x04R\fticketNumber\"\x81\x01\n" +
	"\x13ForceReleaseRequest\x12\x14\n" +
	"\x04name\x18\x01 \x01(\tH\x00R\x04name\x122\n" +
	"\x05claim\x18\x02 \x01(\v2\x1a.rowlock.v1.ClaimReferenceH\x00R\x05claim\x12\x16\n" +
	"\x06reason\x18\x03 \x01(\tR\x06reasonB\b\n" +
	"\x06target\"]\n" +
	"\x14ForceReleaseResponse\x12'\n" +
	"\x05ended\x18\x01 \x03(\v2\x11.rowlock.v1.ClaimR\x05ended\x12\x1c\n" +
	"\tremaining\x18\x02 \x01(\rR\tremaining\"\x88\x04\n" +
	"\x13UpdateRecordRequest\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12;\n" +
	"\n" +
	"not_before\x18\x02 \x01(\v2\x1a.google.protobuf.TimestampH\x00R\tnotBefore\x12?\n" +
	"\rnot_before_in\x18\x03 \x01(\v2\x19.google.protobuf.DurationH\x00R\vnotBeforeIn\x12B\n" +
	"\x10unset_not_before\x18\x04 \x01(\v2\x16.google.protobuf.EmptyH\x00R\x0eunsetNotBefore\x12%\n" +
	"\rattempts_left\x18\x05 \x01(\rH\x01R\fattemptsLeft\x12H\n" +
	"\x13unset_attempts_left\x18\x06 \x01(\v2\x16.google.protobuf.EmptyH\x01R\x11unsetAttemptsLeft\x12\x1b\n" +
	"\x06status\x18\a \x01(\tH\x02R\x06status\x88\x01\x01\x12.\n" +
	"\x10expected_version\x18\b \x01(\x04H\x03R\x0fexpectedVersion\x88\x01\x01\x12\x16\n" +
	"\x06reason\x18\t \x01(\tR\x06reasonB\x10\n" +
	"\x0enew_not_beforeB\x13\n" +
	"\x11new_attempts_leftB\t\n" +
	"\a_statusB\x13\n" +
	"\x11_expected_version\"F\n" +
	"\x14UpdateRecordResponse\x12.\n" +
	"\x06record\x18\x01 \x01(\v2\x16.rowlock.v1.LockRecordR\x06record\"\x86\x01\n" +
	"\x13DeleteRecordRequest\x12\x12\n" +
	"\x04name\x18\x01 \x01(\tR\x04name\x12.\n" +
	"\x10expected_version\x18\x02 \x01(\x04H\x00R\x0fexpectedVersion\x88\x01\x01\x12\x16\n" +
	"\x06reason\x18\x03 \x01(\tR\x06reasonB\x13\n" +
	"\x11_expected_version\"0\n" +
	"\x14DeleteRecordResponse\x12\x18\n" +
	"\adeleted\x18\x01 \x01(\bR\adeleted\"\xe6\x04\n" +
	"\x0eCaptureRequest\x12\x18\n" +
	"\x06prefix\x18\x01 \x01(\tH\x00R\x06prefix\x12-\n" +
	"\x05names\x18\x02 \x01(\v2\x15.rowlock.v1.LockNamesH\x00R\x05names\x12\x1d\n" +
	"\n" +
	"max_leases\x18\x03 \x01(\rR\tmaxLeases\x12\x1b\n" +
	"\tif_status\x18\x04 \x03(\tR\bifStatus\x12+\n" +
	"\x03ttl\x18\x05 \x01(\v2\x19.google.protobuf.DurationR\x03ttl\x12\x1d\n" +
	"\n" +
	"request_id\x18\x06 \x01(\tR\trequestId\x12\x14\n" +
	"\x05owner\x18\a \x01(\tR\x05owner\x12>\n" +
	"\x06labels\x18\b \x03(\v2&.rowlock.v1.CaptureRequest.LabelsEntryR\x06labels\x124\n" +
	"\bmax_wait\x18\t \x01(\v2\x19.google.protobuf.DurationR\amaxWait\x12<\n" +
	"\fmin_interval\x18\n" +
	" \x01(\v2\x19.google.protobuf.DurationR\vminInterval\x128\n" +
	"\n" +
	"lock_delay\x18\v \x01(\v2\x19.google.protobuf.DurationR\tlockDelay\x12)\n" +
	"\x0estatus_if_lost\x18\f \x01(\tH\x01R\fstatusIfLost\x88\x01\x01\x1a9\n" +
	"\vLabelsEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01B\x06\n" +
	"\x04fromB\x11\n" +
	"\x0f_status_if_lost\"!\n" +
	"\tLockNames\x12\x14\n" +
	"\x05names\x18\x01 \x03(\tR\x05names\"\x99\x01\n" +
	"\x0fCaptureResponse\x12)\n" +
	"\x06leases\x18\x01 \x03(\v2\x11.rowlock.v1.LeaseR\x06leases\x12:\n" +
	"\vretry_after\x18\x02 \x01(\v2\x19.google.protobuf.DurationR\n" +
	"retryAfter\x12\x1f\n" +
	"\vis_repeated\x18\x03 \x01(\bR\n" +
	"isRepeated\"\x91\x01\n" +
	"\x0eSessionRequest\x12+\n" +
	"\x04open\x18\x01 \x01(\v2\x17.rowlock.v1.SessionOpenR\x04open\x126\n" +
	"\bcommands\x18\x02 \x03(\v2\x1a.rowlock.v1.SessionCommandR\bcommands\x12\x1a\n" +
	"\breceived\x18\x03 \x01(\x04R\breceived\"\x9b\x01\n" +
	"\vSessionOpen\x12\x14\n" +
	"\x05owner\x18\x01 \x01(\tR\x05owner\x12;\n" +
	"\x06labels\x18\x02 \x03(\v2#.rowlock.v1.SessionOpen.LabelsEntryR\x06labels\x1a9\n" +
	"\vLabelsEntry\x12\x10\n" +
	"\x03key\x18\x01 \x01(\tR\x03key\x12\x14\n" +
	"\x05value\x18\x02 \x01(\tR\x05value:\x028\x01\"\xda\t\n" +
	"\x0eSessionCommand\x12\x12\n" +
	"\x04call\x18\x01 \x01(\x04R\x04call\x123\n" +
	"\atimeout\x18\x02 \x01(\v2\x19.google.protobuf.DurationR\atimeout\x12 \n" +
	"\vtraceparent\x18\x15 \x01(\tR\vtraceparent\x126\n" +
	"\aacquire\x18\x03 \x01(\v2\x1a.rowlock.v1.AcquireRequestH\x00R\aacquire\x12D\n" +
	"\rwait_in_queue\x18\x04 \x01(\v2\x1e.rowlock.v1.WaitInQueueRequestH\x00R\vwaitInQueue\x120\n" +
	"\x05renew\x18\x05 \x01(\v2\x18.rowlock.v1.RenewRequestH\x00R\x05renew\x12<\n" +
	"\frenew_leases\x18\x06 \x01(\v2\x17.rowlock.v1.RenewLeasesH\x00R\vrenewLeases\x126\n" +
	"\arelease\x18\a \x01(\v2\x1a.rowlock.v1.ReleaseRequestH\x00R\arelease\x12:\n" +
	"\tset_limit\x18\b \x01(\v2\x1b.rowlock.v1.SetLimitRequestH\x00R\bsetLimit\x127\n" +
	"\bget_lock\x18\t \x01(\v2\x1a.rowlock.v1.GetLockRequestH\x00R\agetLock\x12=\n" +
	"\n" +
	"list_locks\x18\n" +
	" \x01(\v2\x1c.rowlock.v1.ListLocksRequestH\x00R\tlistLocks\x12@\n" +
	"\vlist_limits\x18\v \x01(\v2\x1d.rowlock.v1.ListLimitsRequestH\x00R\n" +
	"listLimits\x12F\n" +
	"\rforce_release\x18\f \x01(\v2\x1f.rowlock.v1.ForceReleaseRequestH\x00R\fforceRelease\x12@\n" +
	"\vwatch_locks\x18\x11 \x01(\v2\x1d.rowlock.v1.WatchLocksRequestH\x00R\n" +
	"watchLocks\x12\x18\n" +
	"\x06cancel\x18\r \x01(\x04H\x00R\x06cancel\x12F\n" +
	"\rupdate_record\x18\x0e \x01(\v2\x1f.rowlock.v1.UpdateRecordRequestH\x00R\fupdateRecord\x12F\n" +
	"\rdelete_record\x18\x0f \x01(\v2\x1f.rowlock.v1.DeleteRecordRequestH\x00R\fdeleteRecord\x126\n" +
	"\acapture\x18\x10 \x01(\v2\x1a.rowlock.v1.CaptureRequestH\x00R\acapture\x12@\n" +
	"\vlist_claims\x18\x12 \x01(\v2\x1d.rowlock.v1.ListClaimsRequestH\x00R\n" +
	"listClaims\x12C\n" +
	"\flist_changes\x18\x13 \x01(\v2\x1e.rowlock.v1.ListChangesRequestH\x00R\vlistChanges\x12C\n" +
	"\fexplain_wait\x18\x14 \x01(\v2\x1e.rowlock.v1.ExplainWaitRequestH\x00R\vexplainWaitB\t\n" +
	"\acommand\"?\n" +
	"\vRenewLeases\x120\n" +
	"\x06leases\x18\x01 \x03(\v2\x18.rowlock.v1.RenewRequestR\x06leases\"A\n" +
	"\rRenewedLeases\x120\n" +
	"\x06leases\x18\x01 \x03(\v2\x18.rowlock.v1.RenewedLeaseR\x06leases\"p\n" +
	"\fRenewedLease\x12)\n" +
	"\x05lease\x18\x01 \x01(\v2\x11.rowlock.v1.LeaseH\x00R\x05lease\x12*\n" +
	"\x05error\x18\x02 \x01(\v2\x12.google.rpc.StatusH\x00R\x05errorB\t\n" +
	"\aoutcome\"\x8a\x02\n" +
	"\x0fSessionResponse\x121\n" +
	"\x06opened\x18\x01 \x01(\v2\x19.rowlock.v1.SessionOpenedR\x06opened\x123\n" +
	"\aresults\x18\x02 \x03(\v2\x19.rowlock.v1.SessionResultR\aresults\x12\x14\n" +
	"\x05heard\x18\x03 \x01(\x04R\x05heard\x12)\n" +
	"\x04lost\x18\x04 \x03(\v2\x15.rowlock.v1.LostLeaseR\x04lost\x12/\n" +
	"\tconfirmed\x18\x05 \x03(\v2\x11.rowlock.v1.LeaseR\tconfirmed\x12\x1d\n" +
	"\n" +
	"going_away\x18\x06 \x01(\bR\tgoingAway\"\xd9\x02\n" +
	"\rSessionOpened\x12\x18\n" +
	"\areplica\x18\x01 \x01(\tR\areplica\x12H\n" +
	"\x12heartbeat_interval\x18\x02 \x01(\v2\x19.google.protobuf.DurationR\x11heartbeatInterval\x12:\n" +
	"\vsilence_max\x18\x03 \x01(\v2\x19.google.protobuf.DurationR\n" +
	"silenceMax\x12<\n" +
	"\fgrace_period\x18\x04 \x01(\v2\x19.google.protobuf.DurationR\vgracePeriod\x12\x1b\n" +
	"\twaits_max\x18\x05 \x01(\rR\bwaitsMax\x12!\n" +
	"\fcommands_max\x18\x06 \x01(\rR\vcommandsMax\x12*\n" +
	"\x11message_bytes_max\x18\a \x01(\rR\x0fmessageBytesMax\"\xd7\t\n" +
	"\rSessionResult\x12\x12\n" +
	"\x04call\x18\x01 \x01(\x04R\x04call\x127\n" +
	"\aacquire\x18\x02 \x01(\v2\x1b.rowlock.v1.AcquireResponseH\x00R\aacquire\x12E\n" +
	"\rwait_in_queue\x18\x03 \x01(\v2\x1f.rowlock.v1.WaitInQueueResponseH\x00R\vwaitInQueue\x121\n" +
	"\x05renew\x18\x04 \x01(\v2\x19.rowlock.v1.RenewResponseH\x00R\x05renew\x12>\n" +
	"\frenew_leases\x18\x05 \x01(\v2\x19.rowlock.v1.RenewedLeasesH\x00R\vrenewLeases\x127\n" +
	"\arelease\x18\x06 \x01(\v2\x1b.rowlock.v1.ReleaseResponseH\x00R\arelease\x12;\n" +
	"\tset_limit\x18\a \x01(\v2\x1c.rowlock.v1.SetLimitResponseH\x00R\bsetLimit\x128\n" +
	"\bget_lock\x18\b \x01(\v2\x1b.rowlock.v1.GetLockResponseH\x00R\agetLock\x12>\n" +
	"\n" +
	"list_locks\x18\t \x01(\v2\x1d.rowlock.v1.ListLocksResponseH\x00R\tlistLocks\x12A\n" +
	"\vlist_limits\x18\n" +
	" \x01(\v2\x1e.rowlock.v1.ListLimitsResponseH\x00R\n" +
	"listLimits\x12G\n" +
	"\rforce_release\x18\v \x01(\v2 .rowlock.v1.ForceReleaseResponseH\x00R\fforceRelease\x12A\n" +
	"\vwatch_locks\x18\x11 \x01(\v2\x1e.rowlock.v1.WatchLocksResponseH\x00R\n" +
	"watchLocks\x12*\n" +
	"\x05error\x18\f \x01(\v2\x12.google.rpc.StatusH\x00R\x05error\x120\n" +
	"\brejected\x18\r \x01(\v2\x12.google.rpc.StatusH\x00R\brejected\x12G\n" +
	"\rupdate_record\x18\x0e \x01(\v2 .rowlock.v1.UpdateRecordResponseH\x00R\fupdateRecord\x12G\n" +
	"\rdelete_record\x18\x0f \x01(\v2 .rowlock.v1.DeleteRecordResponseH\x00R\fdeleteRecord\x127\n" +
	"\acapture\x18\x10 \x01(\v2\x1b.rowlock.v1.CaptureResponseH\x00R\acapture\x12A\n" +
	"\vlist_claims\x18\x12 \x01(\v2\x1e.rowlock.v1.ListClaimsResponseH\x00R\n" +
	"listClaims\x12D\n" +
	"\flist_changes\x18\x13 \x01(\v2\x1f.rowlock.v1.ListChangesResponseH\x00R\vlistChanges\x12D\n" +
	"\fexplain_wait\x18\x14 \x01(\v2\x1f.rowlock.v1.ExplainWaitResponseH\x00R\vexplainWaitB\b\n" +
	"\x06result\"v\n" +
	"\tLostLease\x12\x19\n" +
	"\blease_id\x18\x01 \x01(\tR\aleaseId\x12\x1b\n" +
	"\tlock_name\x18\x02 \x01(\tR\blockName\x121\n" +
	"\x06reason\x18\x03 \x01(\x0e2\x19.rowlock.v1.RefusalReasonR\x06reason*v\n" +
	"\tListOrder\x12\x1a\n" +
	"\x16LIST_ORDER_UNSPECIFIED\x10\x00\x12\x13\n" +
	"\x0fLIST_ORDER_NAME\x10\x01\x12\x1b\n" +
	"\x17LIST_ORDER_LONGEST_WAIT\x10\x02\x12\x1b\n" +
	"\x17LIST_ORDER_MOST_WAITERS\x10\x032\x88\n" +
	"\n" +
	"\vLockService\x12B\n" +
	"\aAcquire\x12\x1a.rowlock.v1.AcquireRequest\x1a\x1b.rowlock.v1.AcquireResponse\x12P\n" +
	"\vWaitInQueue\x12\x1e.rowlock.v1.WaitInQueueRequest\x1a\x1f.rowlock.v1.WaitInQueueResponse0\x01\x12<\n" +
	"\x05Renew\x12\x18.rowlock.v1.RenewRequest\x1a\x19.rowlock.v1.RenewResponse\x12B\n" +
	"\aRelease\x12\x1a.rowlock.v1.ReleaseRequest\x1a\x1b.rowlock.v1.ReleaseResponse\x12E\n" +
	"\bSetLimit\x12\x1b.rowlock.v1.SetLimitRequest\x1a\x1c.rowlock.v1.SetLimitResponse\x12B\n" +
	"\aGetLock\x12\x1a.rowlock.v1.GetLockRequest\x1a\x1b.rowlock.v1.GetLockResponse\x12H\n" +
	"\tListLocks\x12\x1c.rowlock.v1.ListLocksRequest\x1a\x1d.rowlock.v1.ListLocksResponse\x12K\n" +
	"\n" +
	"ListLimits\x12\x1d.rowlock.v1.ListLimitsRequest\x1a\x1e.rowlock.v1.ListLimitsResponse\x12K\n" +
	"\n" +
	"ListClaims\x12\x1d.rowlock.v1.ListClaimsRequest\x1a\x1e.rowlock.v1.ListClaimsResponse\x12N\n" +
	"\vListChanges\x12\x1e.rowlock.v1.ListChangesRequest\x1a\x1f.rowlock.v1.ListChangesResponse\x12N\n" +
	"\vExplainWait\x12\x1e.rowlock.v1.ExplainWaitRequest\x1a\x1f.rowlock.v1.ExplainWaitResponse\x12M\n" +
	"\n" +
	"WatchLocks\x12\x1d.rowlock.v1.WatchLocksRequest\x1a\x1e.rowlock.v1.WatchLocksResponse0\x01\x12Q\n" +
	"\fForceRelease\x12\x1f.rowlock.v1.ForceReleaseRequest\x1a .rowlock.v1.ForceReleaseResponse\x12Q\n" +
	"\fUpdateRecord\x12\x1f.rowlock.v1.UpdateRecordRequest\x1a .rowlock.v1.UpdateRecordResponse\x12B\n" +
	"\aCapture\x12\x1a.rowlock.v1.CaptureRequest\x1a\x1b.rowlock.v1.CaptureResponse\x12Q\n" +
	"\fDeleteRecord\x12\x1f.rowlock.v1.DeleteRecordRequest\x1a .rowlock.v1.DeleteRecordResponse\x12F\n" +
	"\aSession\x12\x1a.rowlock.v1.SessionRequest\x1a\x1b.rowlock.v1.SessionResponse(\x010\x01B\xa2\x01\n" +
	"\n" +
	"rowlock.v1B\x10LockServiceProtoP\x01Z9github.com/rowlock/rowlock/clients/go/rowlockv1;rowlockv1\xa2\x02\x03RLK\xaa\x02\n" +
	"Rowlock.V1\xca\x02\n" +
	"Rowlock\\V1\xe2\x02\x16Rowlock\\V1\\GPBMetadata\xea\x02\vRowlock::V1b\x06proto3"

var (
	file_rowlock_v1_lock_service_proto_rawDescOnce sync.Once
	file_rowlock_v1_lock_service_proto_rawDescData []byte
)

func file_rowlock_v1_lock_service_proto_rawDescGZIP() []byte {
	file_rowlock_v1_lock_service_proto_rawDescOnce.Do(func() {
		file_rowlock_v1_lock_service_proto_rawDescData = protoimpl.X.CompressGZIP(unsafe.Slice(unsafe.StringData(file_rowlock_v1_lock_service_proto_rawDesc), len(file_rowlock_v1_lock_service_proto_rawDesc)))
	})
	return file_rowlock_v1_lock_service_proto_rawDescData
}

var file_rowlock_v1_lock_service_proto_enumTypes = make([]protoimpl.EnumInfo, 1)
var file_rowlock_v1_lock_service_proto_msgTypes = make([]protoimpl.MessageInfo, 49)
var file_rowlock_v1_lock_service_proto_goTypes = []any{
	(ListOrder)(0),                // 0: rowlock.v1.ListOrder
	(*AcquireRequest)(nil),        // 1: rowlock.v1.AcquireRequest
	(*AcquireResponse)(nil),       // 2: rowlock.v1.AcquireResponse
	(*WaitInQueueRequest)(nil),    // 3: rowlock.v1.WaitInQueueRequest
	(*WaitInQueueResponse)(nil),   // 4: rowlock.v1.WaitInQueueResponse
	(*RenewRequest)(nil),          // 5: rowlock.v1.RenewRequest
	(*RenewResponse)(nil),         // 6: rowlock.v1.RenewResponse
	(*ReleaseRequest)(nil),        // 7: rowlock.v1.ReleaseRequest
	(*ReleaseResponse)(nil),       // 8: rowlock.v1.ReleaseResponse
	(*SetLimitRequest)(nil),       // 9: rowlock.v1.SetLimitRequest
	(*SetLimitResponse)(nil),      // 10: rowlock.v1.SetLimitResponse
	(*GetLockRequest)(nil),        // 11: rowlock.v1.GetLockRequest
	(*GetLockResponse)(nil),       // 12: rowlock.v1.GetLockResponse
	(*ListLocksRequest)(nil),      // 13: rowlock.v1.ListLocksRequest
	(*ListLocksResponse)(nil),     // 14: rowlock.v1.ListLocksResponse
	(*WatchLocksRequest)(nil),     // 15: rowlock.v1.WatchLocksRequest
	(*WatchLocksResponse)(nil),    // 16: rowlock.v1.WatchLocksResponse
	(*ListLimitsRequest)(nil),     // 17: rowlock.v1.ListLimitsRequest
	(*LimitSetting)(nil),          // 18: rowlock.v1.LimitSetting
	(*ListLimitsResponse)(nil),    // 19: rowlock.v1.ListLimitsResponse
	(*ListClaimsRequest)(nil),     // 20: rowlock.v1.ListClaimsRequest
	(*ListClaimsResponse)(nil),    // 21: rowlock.v1.ListClaimsResponse
	(*ListChangesRequest)(nil),    // 22: rowlock.v1.ListChangesRequest
	(*ListChangesResponse)(nil),   // 23: rowlock.v1.ListChangesResponse
	(*ExplainWaitRequest)(nil),    // 24: rowlock.v1.ExplainWaitRequest
	(*ExplainWaitResponse)(nil),   // 25: rowlock.v1.ExplainWaitResponse
	(*ClaimReference)(nil),        // 26: rowlock.v1.ClaimReference
	(*ForceReleaseRequest)(nil),   // 27: rowlock.v1.ForceReleaseRequest
	(*ForceReleaseResponse)(nil),  // 28: rowlock.v1.ForceReleaseResponse
	(*UpdateRecordRequest)(nil),   // 29: rowlock.v1.UpdateRecordRequest
	(*UpdateRecordResponse)(nil),  // 30: rowlock.v1.UpdateRecordResponse
	(*DeleteRecordRequest)(nil),   // 31: rowlock.v1.DeleteRecordRequest
	(*DeleteRecordResponse)(nil),  // 32: rowlock.v1.DeleteRecordResponse
	(*CaptureRequest)(nil),        // 33: rowlock.v1.CaptureRequest
	(*LockNames)(nil),             // 34: rowlock.v1.LockNames
	(*CaptureResponse)(nil),       // 35: rowlock.v1.CaptureResponse
	(*SessionRequest)(nil),        // 36: rowlock.v1.SessionRequest
	(*SessionOpen)(nil),           // 37: rowlock.v1.SessionOpen
	(*SessionCommand)(nil),        // 38: rowlock.v1.SessionCommand
	(*RenewLeases)(nil),           // 39: rowlock.v1.RenewLeases
	(*RenewedLeases)(nil),         // 40: rowlock.v1.RenewedLeases
	(*RenewedLease)(nil),          // 41: rowlock.v1.RenewedLease
	(*SessionResponse)(nil),       // 42: rowlock.v1.SessionResponse
	(*SessionOpened)(nil),         // 43: rowlock.v1.SessionOpened
	(*SessionResult)(nil),         // 44: rowlock.v1.SessionResult
	(*LostLease)(nil),             // 45: rowlock.v1.LostLease
	nil,                           // 46: rowlock.v1.AcquireRequest.LabelsEntry
	nil,                           // 47: rowlock.v1.ListClaimsRequest.LabelsEntry
	nil,                           // 48: rowlock.v1.CaptureRequest.LabelsEntry
	nil,                           // 49: rowlock.v1.SessionOpen.LabelsEntry
	(Mode)(0),                     // 50: rowlock.v1.Mode
	(*durationpb.Duration)(nil),   // 51: google.protobuf.Duration
	(WhenBusy)(0),                 // 52: rowlock.v1.WhenBusy
	(*Lease)(nil),                 // 53: rowlock.v1.Lease
	(*Ticket)(nil),                // 54: rowlock.v1.Ticket
	(*Refusal)(nil),               // 55: rowlock.v1.Refusal
	(*emptypb.Empty)(nil),         // 56: google.protobuf.Empty
	(*Lock)(nil),                  // 57: rowlock.v1.Lock
	(ClaimState)(0),               // 58: rowlock.v1.ClaimState
	(RefusalReason)(0),            // 59: rowlock.v1.RefusalReason
	(*timestamppb.Timestamp)(nil), // 60: google.protobuf.Timestamp
	(*Claim)(nil),                 // 61: rowlock.v1.Claim
	(ChangeKind)(0),               // 62: rowlock.v1.ChangeKind
	(*Change)(nil),                // 63: rowlock.v1.Change
	(*WaitCause)(nil),             // 64: rowlock.v1.WaitCause
	(*WaitEstimate)(nil),          // 65: rowlock.v1.WaitEstimate
	(*LockRecord)(nil),            // 66: rowlock.v1.LockRecord
	(*status.Status)(nil),         // 67: google.rpc.Status
}
var file_rowlock_v1_lock_service_proto_depIdxs = []int32{
	50,  // 0: rowlock.v1.AcquireRequest.mode:type_name -> rowlock.v1.Mode
	51,  // 1: rowlock.v1.AcquireRequest.ttl:type_name -> google.protobuf.Duration
	46,  // 2: rowlock.v1.AcquireRequest.labels:type_name -> rowlock.v1.AcquireRequest.LabelsEntry
	52,  // 3: rowlock.v1.AcquireRequest.when_busy:type_name -> rowlock.v1.WhenBusy
	51,  // 4: rowlock.v1.AcquireRequest.max_wait:type_name -> google.protobuf.Duration
	51,  // 5: rowlock.v1.AcquireRequest.min_interval:type_name -> google.protobuf.Duration
	51,  // 6: rowlock.v1.AcquireRequest.lock_delay:type_name -> google.protobuf.Duration
	53,  // 7: rowlock.v1.AcquireResponse.lease:type_name -> rowlock.v1.Lease
	54,  // 8: rowlock.v1.AcquireResponse.ticket:type_name -> rowlock.v1.Ticket
	55,  // 9: rowlock.v1.AcquireResponse.refusal:type_name -> rowlock.v1.Refusal
	1,   // 10: rowlock.v1.WaitInQueueRequest.acquire:type_name -> rowlock.v1.AcquireRequest
	51,  // 11: rowlock.v1.WaitInQueueRequest.min_update_interval:type_name -> google.protobuf.Duration
	54,  // 12: rowlock.v1.WaitInQueueResponse.position:type_name -> rowlock.v1.Ticket
	53,  // 13: rowlock.v1.WaitInQueueResponse.granted:type_name -> rowlock.v1.Lease
	55,  // 14: rowlock.v1.WaitInQueueResponse.ended:type_name -> rowlock.v1.Refusal
	51,  // 15: rowlock.v1.RenewRequest.ttl:type_name -> google.protobuf.Duration
	53,  // 16: rowlock.v1.RenewResponse.lease:type_name -> rowlock.v1.Lease
	51,  // 17: rowlock.v1.ReleaseRequest.cool_down:type_name -> google.protobuf.Duration
	56,  // 18: rowlock.v1.SetLimitRequest.unset_limit:type_name -> google.protobuf.Empty
	57,  // 19: rowlock.v1.GetLockResponse.lock:type_name -> rowlock.v1.Lock
	0,   // 20: rowlock.v1.ListLocksRequest.order:type_name -> rowlock.v1.ListOrder
	57,  // 21: rowlock.v1.ListLocksResponse.locks:type_name -> rowlock.v1.Lock
	57,  // 22: rowlock.v1.WatchLocksResponse.locks:type_name -> rowlock.v1.Lock
	18,  // 23: rowlock.v1.ListLimitsResponse.limits:type_name -> rowlock.v1.LimitSetting
	47,  // 24: rowlock.v1.ListClaimsRequest.labels:type_name -> rowlock.v1.ListClaimsRequest.LabelsEntry
	58,  // 25: rowlock.v1.ListClaimsRequest.states:type_name -> rowlock.v1.ClaimState
	59,  // 26: rowlock.v1.ListClaimsRequest.end_reasons:type_name -> rowlock.v1.RefusalReason
	60,  // 27: rowlock.v1.ListClaimsRequest.from:type_name -> google.protobuf.Timestamp
	60,  // 28: rowlock.v1.ListClaimsRequest.until:type_name -> google.protobuf.Timestamp
	60,  // 29: rowlock.v1.ListClaimsRequest.held_at:type_name -> google.protobuf.Timestamp
	61,  // 30: rowlock.v1.ListClaimsResponse.claims:type_name -> rowlock.v1.Claim
	60,  // 31: rowlock.v1.ListClaimsResponse.searched_back_to:type_name -> google.protobuf.Timestamp
	60,  // 32: rowlock.v1.ListClaimsResponse.complete_from:type_name -> google.protobuf.Timestamp
	62,  // 33: rowlock.v1.ListChangesRequest.kinds:type_name -> rowlock.v1.ChangeKind
	60,  // 34: rowlock.v1.ListChangesRequest.from:type_name -> google.protobuf.Timestamp
	60,  // 35: rowlock.v1.ListChangesRequest.until:type_name -> google.protobuf.Timestamp
	63,  // 36: rowlock.v1.ListChangesResponse.changes:type_name -> rowlock.v1.Change
	60,  // 37: rowlock.v1.ListChangesResponse.searched_back_to:type_name -> google.protobuf.Timestamp
	60,  // 38: rowlock.v1.ListChangesResponse.complete_from:type_name -> google.protobuf.Timestamp
	26,  // 39: rowlock.v1.ExplainWaitRequest.claim:type_name -> rowlock.v1.ClaimReference
	57,  // 40: rowlock.v1.ExplainWaitResponse.lock:type_name -> rowlock.v1.Lock
	61,  // 41: rowlock.v1.ExplainWaitResponse.claim:type_name -> rowlock.v1.Claim
	64,  // 42: rowlock.v1.ExplainWaitResponse.causes:type_name -> rowlock.v1.WaitCause
	65,  // 43: rowlock.v1.ExplainWaitResponse.estimate:type_name -> rowlock.v1.WaitEstimate
	26,  // 44: rowlock.v1.ForceReleaseRequest.claim:type_name -> rowlock.v1.ClaimReference
	61,  // 45: rowlock.v1.ForceReleaseResponse.ended:type_name -> rowlock.v1.Claim
	60,  // 46: rowlock.v1.UpdateRecordRequest.not_before:type_name -> google.protobuf.Timestamp
	51,  // 47: rowlock.v1.UpdateRecordRequest.not_before_in:type_name -> google.protobuf.Duration
	56,  // 48: rowlock.v1.UpdateRecordRequest.unset_not_before:type_name -> google.protobuf.Empty
	56,  // 49: rowlock.v1.UpdateRecordRequest.unset_attempts_left:type_name -> google.protobuf.Empty
	66,  // 50: rowlock.v1.UpdateRecordResponse.record:type_name -> rowlock.v1.LockRecord
	34,  // 51: rowlock.v1.CaptureRequest.names:type_name -> rowlock.v1.LockNames
	51,  // 52: rowlock.v1.CaptureRequest.ttl:type_name -> google.protobuf.Duration
	48,  // 53: rowlock.v1.CaptureRequest.labels:type_name -> rowlock.v1.CaptureRequest.LabelsEntry
	51,  // 54: rowlock.v1.CaptureRequest.max_wait:type_name -> google.protobuf.Duration
	51,  // 55: rowlock.v1.CaptureRequest.min_interval:type_name -> google.protobuf.Duration
	51,  // 56: rowlock.v1.CaptureRequest.lock_delay:type_name -> google.protobuf.Duration
	53,  // 57: rowlock.v1.CaptureResponse.leases:type_name -> rowlock.v1.Lease
	51,  // 58: rowlock.v1.CaptureResponse.retry_after:type_name -> google.protobuf.Duration
	37,  // 59: rowlock.v1.SessionRequest.open:type_name -> rowlock.v1.SessionOpen
	38,  // 60: rowlock.v1.SessionRequest.commands:type_name -> rowlock.v1.SessionCommand
	49,  // 61: rowlock.v1.SessionOpen.labels:type_name -> rowlock.v1.SessionOpen.LabelsEntry
	51,  // 62: rowlock.v1.SessionCommand.timeout:type_name -> google.protobuf.Duration
	1,   // 63: rowlock.v1.SessionCommand.acquire:type_name -> rowlock.v1.AcquireRequest
	3,   // 64: rowlock.v1.SessionCommand.wait_in_queue:type_name -> rowlock.v1.WaitInQueueRequest
	5,   // 65: rowlock.v1.SessionCommand.renew:type_name -> rowlock.v1.RenewRequest
	39,  // 66: rowlock.v1.SessionCommand.renew_leases:type_name -> rowlock.v1.RenewLeases
	7,   // 67: rowlock.v1.SessionCommand.release:type_name -> rowlock.v1.ReleaseRequest
	9,   // 68: rowlock.v1.SessionCommand.set_limit:type_name -> rowlock.v1.SetLimitRequest
	11,  // 69: rowlock.v1.SessionCommand.get_lock:type_name -> rowlock.v1.GetLockRequest
	13,  // 70: rowlock.v1.SessionCommand.list_locks:type_name -> rowlock.v1.ListLocksRequest
	17,  // 71: rowlock.v1.SessionCommand.list_limits:type_name -> rowlock.v1.ListLimitsRequest
	27,  // 72: rowlock.v1.SessionCommand.force_release:type_name -> rowlock.v1.ForceReleaseRequest
	15,  // 73: rowlock.v1.SessionCommand.watch_locks:type_name -> rowlock.v1.WatchLocksRequest
	29,  // 74: rowlock.v1.SessionCommand.update_record:type_name -> rowlock.v1.UpdateRecordRequest
	31,  // 75: rowlock.v1.SessionCommand.delete_record:type_name -> rowlock.v1.DeleteRecordRequest
	33,  // 76: rowlock.v1.SessionCommand.capture:type_name -> rowlock.v1.CaptureRequest
	20,  // 77: rowlock.v1.SessionCommand.list_claims:type_name -> rowlock.v1.ListClaimsRequest
	22,  // 78: rowlock.v1.SessionCommand.list_changes:type_name -> rowlock.v1.ListChangesRequest
	24,  // 79: rowlock.v1.SessionCommand.explain_wait:type_name -> rowlock.v1.ExplainWaitRequest
	5,   // 80: rowlock.v1.RenewLeases.leases:type_name -> rowlock.v1.RenewRequest
	41,  // 81: rowlock.v1.RenewedLeases.leases:type_name -> rowlock.v1.RenewedLease
	53,  // 82: rowlock.v1.RenewedLease.lease:type_name -> rowlock.v1.Lease
	67,  // 83: rowlock.v1.RenewedLease.error:type_name -> google.rpc.Status
	43,  // 84: rowlock.v1.SessionResponse.opened:type_name -> rowlock.v1.SessionOpened
	44,  // 85: rowlock.v1.SessionResponse.results:type_name -> rowlock.v1.SessionResult
	45,  // 86: rowlock.v1.SessionResponse.lost:type_name -> rowlock.v1.LostLease
	53,  // 87: rowlock.v1.SessionResponse.confirmed:type_name -> rowlock.v1.Lease
	51,  // 88: rowlock.v1.SessionOpened.heartbeat_interval:type_name -> google.protobuf.Duration
	51,  // 89: rowlock.v1.SessionOpened.silence_max:type_name -> google.protobuf.Duration
	51,  // 90: rowlock.v1.SessionOpened.grace_period:type_name -> google.protobuf.Duration
	2,   // 91: rowlock.v1.SessionResult.acquire:type_name -> rowlock.v1.AcquireResponse
	4,   // 92: rowlock.v1.SessionResult.wait_in_queue:type_name -> rowlock.v1.WaitInQueueResponse
	6,   // 93: rowlock.v1.SessionResult.renew:type_name -> rowlock.v1.RenewResponse
	40,  // 94: rowlock.v1.SessionResult.renew_leases:type_name -> rowlock.v1.RenewedLeases
	8,   // 95: rowlock.v1.SessionResult.release:type_name -> rowlock.v1.ReleaseResponse
	10,  // 96: rowlock.v1.SessionResult.set_limit:type_name -> rowlock.v1.SetLimitResponse
	12,  // 97: rowlock.v1.SessionResult.get_lock:type_name -> rowlock.v1.GetLockResponse
	14,  // 98: rowlock.v1.SessionResult.list_locks:type_name -> rowlock.v1.ListLocksResponse
	19,  // 99: rowlock.v1.SessionResult.list_limits:type_name -> rowlock.v1.ListLimitsResponse
	28,  // 100: rowlock.v1.SessionResult.force_release:type_name -> rowlock.v1.ForceReleaseResponse
	16,  // 101: rowlock.v1.SessionResult.watch_locks:type_name -> rowlock.v1.WatchLocksResponse
	67,  // 102: rowlock.v1.SessionResult.error:type_name -> google.rpc.Status
	67,  // 103: rowlock.v1.SessionResult.rejected:type_name -> google.rpc.Status
	30,  // 104: rowlock.v1.SessionResult.update_record:type_name -> rowlock.v1.UpdateRecordResponse
	32,  // 105: rowlock.v1.SessionResult.delete_record:type_name -> rowlock.v1.DeleteRecordResponse
	35,  // 106: rowlock.v1.SessionResult.capture:type_name -> rowlock.v1.CaptureResponse
	21,  // 107: rowlock.v1.SessionResult.list_claims:type_name -> rowlock.v1.ListClaimsResponse
	23,  // 108: rowlock.v1.SessionResult.list_changes:type_name -> rowlock.v1.ListChangesResponse
	25,  // 109: rowlock.v1.SessionResult.explain_wait:type_name -> rowlock.v1.ExplainWaitResponse
	59,  // 110: rowlock.v1.LostLease.reason:type_name -> rowlock.v1.RefusalReason
	1,   // 111: rowlock.v1.LockService.Acquire:input_type -> rowlock.v1.AcquireRequest
	3,   // 112: rowlock.v1.LockService.WaitInQueue:input_type -> rowlock.v1.WaitInQueueRequest
	5,   // 113: rowlock.v1.LockService.Renew:input_type -> rowlock.v1.RenewRequest
	7,   // 114: rowlock.v1.LockService.Release:input_type -> rowlock.v1.ReleaseRequest
	9,   // 115: rowlock.v1.LockService.SetLimit:input_type -> rowlock.v1.SetLimitRequest
	11,  // 116: rowlock.v1.LockService.GetLock:input_type -> rowlock.v1.GetLockRequest
	13,  // 117: rowlock.v1.LockService.ListLocks:input_type -> rowlock.v1.ListLocksRequest
	17,  // 118: rowlock.v1.LockService.ListLimits:input_type -> rowlock.v1.ListLimitsRequest
	20,  // 119: rowlock.v1.LockService.ListClaims:input_type -> rowlock.v1.ListClaimsRequest
	22,  // 120: rowlock.v1.LockService.ListChanges:input_type -> rowlock.v1.ListChangesRequest
	24,  // 121: rowlock.v1.LockService.ExplainWait:input_type -> rowlock.v1.ExplainWaitRequest
	15,  // 122: rowlock.v1.LockService.WatchLocks:input_type -> rowlock.v1.WatchLocksRequest
	27,  // 123: rowlock.v1.LockService.ForceRelease:input_type -> rowlock.v1.ForceReleaseRequest
	29,  // 124: rowlock.v1.LockService.UpdateRecord:input_type -> rowlock.v1.UpdateRecordRequest
	33,  // 125: rowlock.v1.LockService.Capture:input_type -> rowlock.v1.CaptureRequest
	31,  // 126: rowlock.v1.LockService.DeleteRecord:input_type -> rowlock.v1.DeleteRecordRequest
	36,  // 127: rowlock.v1.LockService.Session:input_type -> rowlock.v1.SessionRequest
	2,   // 128: rowlock.v1.LockService.Acquire:output_type -> rowlock.v1.AcquireResponse
	4,   // 129: rowlock.v1.LockService.WaitInQueue:output_type -> rowlock.v1.WaitInQueueResponse
	6,   // 130: rowlock.v1.LockService.Renew:output_type -> rowlock.v1.RenewResponse
	8,   // 131: rowlock.v1.LockService.Release:output_type -> rowlock.v1.ReleaseResponse
	10,  // 132: rowlock.v1.LockService.SetLimit:output_type -> rowlock.v1.SetLimitResponse
	12,  // 133: rowlock.v1.LockService.GetLock:output_type -> rowlock.v1.GetLockResponse
	14,  // 134: rowlock.v1.LockService.ListLocks:output_type -> rowlock.v1.ListLocksResponse
	19,  // 135: rowlock.v1.LockService.ListLimits:output_type -> rowlock.v1.ListLimitsResponse
	21,  // 136: rowlock.v1.LockService.ListClaims:output_type -> rowlock.v1.ListClaimsResponse
	23,  // 137: rowlock.v1.LockService.ListChanges:output_type -> rowlock.v1.ListChangesResponse
	25,  // 138: rowlock.v1.LockService.ExplainWait:output_type -> rowlock.v1.ExplainWaitResponse
	16,  // 139: rowlock.v1.LockService.WatchLocks:output_type -> rowlock.v1.WatchLocksResponse
	28,  // 140: rowlock.v1.LockService.ForceRelease:output_type -> rowlock.v1.ForceReleaseResponse
	30,  // 141: rowlock.v1.LockService.UpdateRecord:output_type -> rowlock.v1.UpdateRecordResponse
	35,  // 142: rowlock.v1.LockService.Capture:output_type -> rowlock.v1.CaptureResponse
	32,  // 143: rowlock.v1.LockService.DeleteRecord:output_type -> rowlock.v1.DeleteRecordResponse
	42,  // 144: rowlock.v1.LockService.Session:output_type -> rowlock.v1.SessionResponse
	128, // [128:145] is the sub-list for method output_type
	111, // [111:128] is the sub-list for method input_type
	111, // [111:111] is the sub-list for extension type_name
	111, // [111:111] is the sub-list for extension extendee
	0,   // [0:111] is the sub-list for field type_name
}

func init() { file_rowlock_v1_lock_service_proto_init() }
func file_rowlock_v1_lock_service_proto_init() {
	if File_rowlock_v1_lock_service_proto != nil {
		return
	}
	file_rowlock_v1_lock_proto_init()
	file_rowlock_v1_lock_service_proto_msgTypes[0].OneofWrappers = []any{}
	file_rowlock_v1_lock_service_proto_msgTypes[1].OneofWrappers = []any{
		(*AcquireResponse_Lease)(nil),
		(*AcquireResponse_Ticket)(nil),
		(*AcquireResponse_Refusal)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[2].OneofWrappers = []any{
		(*WaitInQueueRequest_Acquire)(nil),
		(*WaitInQueueRequest_TicketId)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[3].OneofWrappers = []any{
		(*WaitInQueueResponse_Position)(nil),
		(*WaitInQueueResponse_Granted)(nil),
		(*WaitInQueueResponse_Ended)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[6].OneofWrappers = []any{}
	file_rowlock_v1_lock_service_proto_msgTypes[8].OneofWrappers = []any{
		(*SetLimitRequest_Name)(nil),
		(*SetLimitRequest_Pattern)(nil),
		(*SetLimitRequest_Limit)(nil),
		(*SetLimitRequest_UnsetLimit)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[17].OneofWrappers = []any{
		(*LimitSetting_Name)(nil),
		(*LimitSetting_Pattern)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[23].OneofWrappers = []any{
		(*ExplainWaitRequest_Name)(nil),
		(*ExplainWaitRequest_TicketId)(nil),
		(*ExplainWaitRequest_Claim)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[26].OneofWrappers = []any{
		(*ForceReleaseRequest_Name)(nil),
		(*ForceReleaseRequest_Claim)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[28].OneofWrappers = []any{
		(*UpdateRecordRequest_NotBefore)(nil),
		(*UpdateRecordRequest_NotBeforeIn)(nil),
		(*UpdateRecordRequest_UnsetNotBefore)(nil),
		(*UpdateRecordRequest_AttemptsLeft)(nil),
		(*UpdateRecordRequest_UnsetAttemptsLeft)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[30].OneofWrappers = []any{}
	file_rowlock_v1_lock_service_proto_msgTypes[32].OneofWrappers = []any{
		(*CaptureRequest_Prefix)(nil),
		(*CaptureRequest_Names)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[37].OneofWrappers = []any{
		(*SessionCommand_Acquire)(nil),
		(*SessionCommand_WaitInQueue)(nil),
		(*SessionCommand_Renew)(nil),
		(*SessionCommand_RenewLeases)(nil),
		(*SessionCommand_Release)(nil),
		(*SessionCommand_SetLimit)(nil),
		(*SessionCommand_GetLock)(nil),
		(*SessionCommand_ListLocks)(nil),
		(*SessionCommand_ListLimits)(nil),
		(*SessionCommand_ForceRelease)(nil),
		(*SessionCommand_WatchLocks)(nil),
		(*SessionCommand_Cancel)(nil),
		(*SessionCommand_UpdateRecord)(nil),
		(*SessionCommand_DeleteRecord)(nil),
		(*SessionCommand_Capture)(nil),
		(*SessionCommand_ListClaims)(nil),
		(*SessionCommand_ListChanges)(nil),
		(*SessionCommand_ExplainWait)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[40].OneofWrappers = []any{
		(*RenewedLease_Lease)(nil),
		(*RenewedLease_Error)(nil),
	}
	file_rowlock_v1_lock_service_proto_msgTypes[43].OneofWrappers = []any{
		(*SessionResult_Acquire)(nil),
		(*SessionResult_WaitInQueue)(nil),
		(*SessionResult_Renew)(nil),
		(*SessionResult_RenewLeases)(nil),
		(*SessionResult_Release)(nil),
		(*SessionResult_SetLimit)(nil),
		(*SessionResult_GetLock)(nil),
		(*SessionResult_ListLocks)(nil),
		(*SessionResult_ListLimits)(nil),
		(*SessionResult_ForceRelease)(nil),
		(*SessionResult_WatchLocks)(nil),
		(*SessionResult_Error)(nil),
		(*SessionResult_Rejected)(nil),
		(*SessionResult_UpdateRecord)(nil),
		(*SessionResult_DeleteRecord)(nil),
		(*SessionResult_Capture)(nil),
		(*SessionResult_ListClaims)(nil),
		(*SessionResult_ListChanges)(nil),
		(*SessionResult_ExplainWait)(nil),
	}
	type x struct{}
	out := protoimpl.TypeBuilder{
		File: protoimpl.DescBuilder{
			GoPackagePath: reflect.TypeOf(x{}).PkgPath(),
			RawDescriptor: unsafe.Slice(unsafe.StringData(file_rowlock_v1_lock_service_proto_rawDesc), len(file_rowlock_v1_lock_service_proto_rawDesc)),
			NumEnums:      1,
			NumMessages:   49,
			NumExtensions: 0,
			NumServices:   1,
		},
		GoTypes:           file_rowlock_v1_lock_service_proto_goTypes,
		DependencyIndexes: file_rowlock_v1_lock_service_proto_depIdxs,
		EnumInfos:         file_rowlock_v1_lock_service_proto_enumTypes,
		MessageInfos:      file_rowlock_v1_lock_service_proto_msgTypes,
	}.Build()
	File_rowlock_v1_lock_service_proto = out.File
	file_rowlock_v1_lock_service_proto_goTypes = nil
	file_rowlock_v1_lock_service_proto_depIdxs = nil
}
