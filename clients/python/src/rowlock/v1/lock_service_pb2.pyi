import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from rowlock.v1 import lock_pb2 as _lock_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ListOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIST_ORDER_UNSPECIFIED: _ClassVar[ListOrder]
    LIST_ORDER_NAME: _ClassVar[ListOrder]
    LIST_ORDER_LONGEST_WAIT: _ClassVar[ListOrder]
    LIST_ORDER_MOST_WAITERS: _ClassVar[ListOrder]
LIST_ORDER_UNSPECIFIED: ListOrder
LIST_ORDER_NAME: ListOrder
LIST_ORDER_LONGEST_WAIT: ListOrder
LIST_ORDER_MOST_WAITERS: ListOrder

class AcquireRequest(_message.Message):
    __slots__ = ("name", "mode", "permits", "terms", "request_id", "wait", "enqueue", "spend_only", "also", "head_start")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    ENQUEUE_FIELD_NUMBER: _ClassVar[int]
    SPEND_ONLY_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    HEAD_START_FIELD_NUMBER: _ClassVar[int]
    name: str
    mode: _lock_pb2.Mode
    permits: int
    terms: _lock_pb2.LeaseTerms
    request_id: str
    wait: Wait
    enqueue: Wait
    spend_only: bool
    also: _containers.RepeatedCompositeFieldContainer[WantedLock]
    head_start: _duration_pb2.Duration
    def __init__(self, name: _Optional[str] = ..., mode: _Optional[_Union[_lock_pb2.Mode, str]] = ..., permits: _Optional[int] = ..., terms: _Optional[_Union[_lock_pb2.LeaseTerms, _Mapping]] = ..., request_id: _Optional[str] = ..., wait: _Optional[_Union[Wait, _Mapping]] = ..., enqueue: _Optional[_Union[Wait, _Mapping]] = ..., spend_only: bool = ..., also: _Optional[_Iterable[_Union[WantedLock, _Mapping]]] = ..., head_start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WantedLock(_message.Message):
    __slots__ = ("name", "mode", "permits")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    name: str
    mode: _lock_pb2.Mode
    permits: int
    def __init__(self, name: _Optional[str] = ..., mode: _Optional[_Union[_lock_pb2.Mode, str]] = ..., permits: _Optional[int] = ...) -> None: ...

class Wait(_message.Message):
    __slots__ = ("max_wait",)
    MAX_WAIT_FIELD_NUMBER: _ClassVar[int]
    max_wait: _duration_pb2.Duration
    def __init__(self, max_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class AcquireResponse(_message.Message):
    __slots__ = ("lease", "ticket", "refusal", "ended", "spent")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    lease: _lock_pb2.Lease
    ticket: _lock_pb2.Ticket
    refusal: _lock_pb2.Refusal
    ended: _lock_pb2.ClaimEnd
    spent: _lock_pb2.Spent
    def __init__(self, lease: _Optional[_Union[_lock_pb2.Lease, _Mapping]] = ..., ticket: _Optional[_Union[_lock_pb2.Ticket, _Mapping]] = ..., refusal: _Optional[_Union[_lock_pb2.Refusal, _Mapping]] = ..., ended: _Optional[_Union[_lock_pb2.ClaimEnd, _Mapping]] = ..., spent: _Optional[_Union[_lock_pb2.Spent, _Mapping]] = ...) -> None: ...

class WaitInQueueRequest(_message.Message):
    __slots__ = ("request", "ticket_id", "min_update_interval")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    MIN_UPDATE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    request: QueueRequest
    ticket_id: str
    min_update_interval: _duration_pb2.Duration
    def __init__(self, request: _Optional[_Union[QueueRequest, _Mapping]] = ..., ticket_id: _Optional[str] = ..., min_update_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class QueueRequest(_message.Message):
    __slots__ = ("name", "mode", "permits", "terms", "request_id", "max_wait", "spend_only", "also", "head_start")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_FIELD_NUMBER: _ClassVar[int]
    SPEND_ONLY_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    HEAD_START_FIELD_NUMBER: _ClassVar[int]
    name: str
    mode: _lock_pb2.Mode
    permits: int
    terms: _lock_pb2.LeaseTerms
    request_id: str
    max_wait: _duration_pb2.Duration
    spend_only: bool
    also: _containers.RepeatedCompositeFieldContainer[WantedLock]
    head_start: _duration_pb2.Duration
    def __init__(self, name: _Optional[str] = ..., mode: _Optional[_Union[_lock_pb2.Mode, str]] = ..., permits: _Optional[int] = ..., terms: _Optional[_Union[_lock_pb2.LeaseTerms, _Mapping]] = ..., request_id: _Optional[str] = ..., max_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., spend_only: bool = ..., also: _Optional[_Iterable[_Union[WantedLock, _Mapping]]] = ..., head_start: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitInQueueResponse(_message.Message):
    __slots__ = ("position", "granted", "refusal", "ended", "spent")
    POSITION_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    SPENT_FIELD_NUMBER: _ClassVar[int]
    position: _lock_pb2.Ticket
    granted: _lock_pb2.Lease
    refusal: _lock_pb2.Refusal
    ended: _lock_pb2.ClaimEnd
    spent: _lock_pb2.Spent
    def __init__(self, position: _Optional[_Union[_lock_pb2.Ticket, _Mapping]] = ..., granted: _Optional[_Union[_lock_pb2.Lease, _Mapping]] = ..., refusal: _Optional[_Union[_lock_pb2.Refusal, _Mapping]] = ..., ended: _Optional[_Union[_lock_pb2.ClaimEnd, _Mapping]] = ..., spent: _Optional[_Union[_lock_pb2.Spent, _Mapping]] = ...) -> None: ...

class RenewRequest(_message.Message):
    __slots__ = ("lease_id", "ttl")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    ttl: _duration_pb2.Duration
    def __init__(self, lease_id: _Optional[str] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class RenewResponse(_message.Message):
    __slots__ = ("lease",)
    LEASE_FIELD_NUMBER: _ClassVar[int]
    lease: _lock_pb2.Lease
    def __init__(self, lease: _Optional[_Union[_lock_pb2.Lease, _Mapping]] = ...) -> None: ...

class ReleaseRequest(_message.Message):
    __slots__ = ("lease_id", "cool_down", "status", "attempts_left", "failed")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    COOL_DOWN_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    cool_down: _duration_pb2.Duration
    status: str
    attempts_left: int
    failed: bool
    def __init__(self, lease_id: _Optional[str] = ..., cool_down: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., status: _Optional[str] = ..., attempts_left: _Optional[int] = ..., failed: bool = ...) -> None: ...

class ReleaseResponse(_message.Message):
    __slots__ = ("released",)
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    released: bool
    def __init__(self, released: bool = ...) -> None: ...

class SetLimitRequest(_message.Message):
    __slots__ = ("name", "pattern", "pool", "limit", "unset_limit", "expected_version", "reason", "rate", "unset_rate", "queue_rules", "unset_queue_rules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    UNSET_LIMIT_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    UNSET_RATE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_FIELD_NUMBER: _ClassVar[int]
    UNSET_QUEUE_RULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    pattern: str
    pool: str
    limit: int
    unset_limit: _empty_pb2.Empty
    expected_version: int
    reason: str
    rate: _lock_pb2.Rate
    unset_rate: _empty_pb2.Empty
    queue_rules: _lock_pb2.QueueRules
    unset_queue_rules: _empty_pb2.Empty
    def __init__(self, name: _Optional[str] = ..., pattern: _Optional[str] = ..., pool: _Optional[str] = ..., limit: _Optional[int] = ..., unset_limit: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ..., rate: _Optional[_Union[_lock_pb2.Rate, _Mapping]] = ..., unset_rate: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ..., queue_rules: _Optional[_Union[_lock_pb2.QueueRules, _Mapping]] = ..., unset_queue_rules: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ...) -> None: ...

class SetLimitResponse(_message.Message):
    __slots__ = ("limit", "version", "held_permits", "waiter_count", "draining", "servers_behind", "rate", "no_limit", "counting", "queue_rules")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HELD_PERMITS_FIELD_NUMBER: _ClassVar[int]
    WAITER_COUNT_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    SERVERS_BEHIND_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    NO_LIMIT_FIELD_NUMBER: _ClassVar[int]
    COUNTING_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_FIELD_NUMBER: _ClassVar[int]
    limit: int
    version: int
    held_permits: int
    waiter_count: int
    draining: bool
    servers_behind: int
    rate: _lock_pb2.Rate
    no_limit: bool
    counting: bool
    queue_rules: _lock_pb2.QueueRules
    def __init__(self, limit: _Optional[int] = ..., version: _Optional[int] = ..., held_permits: _Optional[int] = ..., waiter_count: _Optional[int] = ..., draining: bool = ..., servers_behind: _Optional[int] = ..., rate: _Optional[_Union[_lock_pb2.Rate, _Mapping]] = ..., no_limit: bool = ..., counting: bool = ..., queue_rules: _Optional[_Union[_lock_pb2.QueueRules, _Mapping]] = ...) -> None: ...

class GetLockRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetLockResponse(_message.Message):
    __slots__ = ("lock",)
    LOCK_FIELD_NUMBER: _ClassVar[int]
    lock: _lock_pb2.Lock
    def __init__(self, lock: _Optional[_Union[_lock_pb2.Lock, _Mapping]] = ...) -> None: ...

class ListLocksRequest(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token", "busy_only", "order", "statuses", "exhausted_only")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    BUSY_ONLY_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    STATUSES_FIELD_NUMBER: _ClassVar[int]
    EXHAUSTED_ONLY_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: str
    busy_only: bool
    order: ListOrder
    statuses: _containers.RepeatedScalarFieldContainer[str]
    exhausted_only: bool
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., busy_only: bool = ..., order: _Optional[_Union[ListOrder, str]] = ..., statuses: _Optional[_Iterable[str]] = ..., exhausted_only: bool = ...) -> None: ...

class ListLocksResponse(_message.Message):
    __slots__ = ("locks", "next_page_token")
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    locks: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Lock]
    next_page_token: str
    def __init__(self, locks: _Optional[_Iterable[_Union[_lock_pb2.Lock, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchLocksRequest(_message.Message):
    __slots__ = ("prefix",)
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    def __init__(self, prefix: _Optional[str] = ...) -> None: ...

class WatchLocksResponse(_message.Message):
    __slots__ = ("began_anew", "locks", "deleted", "complete")
    BEGAN_ANEW_FIELD_NUMBER: _ClassVar[int]
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    began_anew: bool
    locks: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Lock]
    deleted: _containers.RepeatedScalarFieldContainer[str]
    complete: bool
    def __init__(self, began_anew: bool = ..., locks: _Optional[_Iterable[_Union[_lock_pb2.Lock, _Mapping]]] = ..., deleted: _Optional[_Iterable[str]] = ..., complete: bool = ...) -> None: ...

class ListLimitsRequest(_message.Message):
    __slots__ = ("prefix", "page_size", "page_token")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    page_size: int
    page_token: str
    def __init__(self, prefix: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class LimitSetting(_message.Message):
    __slots__ = ("name", "pattern", "pool", "limit", "version", "reason", "rate", "rate_only", "use", "queue_rules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    RATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    pattern: str
    pool: str
    limit: int
    version: int
    reason: str
    rate: _lock_pb2.Rate
    rate_only: bool
    use: _lock_pb2.PoolUse
    queue_rules: _lock_pb2.QueueRules
    def __init__(self, name: _Optional[str] = ..., pattern: _Optional[str] = ..., pool: _Optional[str] = ..., limit: _Optional[int] = ..., version: _Optional[int] = ..., reason: _Optional[str] = ..., rate: _Optional[_Union[_lock_pb2.Rate, _Mapping]] = ..., rate_only: bool = ..., use: _Optional[_Union[_lock_pb2.PoolUse, _Mapping]] = ..., queue_rules: _Optional[_Union[_lock_pb2.QueueRules, _Mapping]] = ...) -> None: ...

class ListLimitsResponse(_message.Message):
    __slots__ = ("limits", "next_page_token")
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    limits: _containers.RepeatedCompositeFieldContainer[LimitSetting]
    next_page_token: str
    def __init__(self, limits: _Optional[_Iterable[_Union[LimitSetting, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListClaimsRequest(_message.Message):
    __slots__ = ("lock_name", "prefix", "held_at", "owner", "principal", "labels", "states", "end_reasons", "until", "page_size", "page_token")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    HELD_AT_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    END_REASONS_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    prefix: str
    held_at: HeldAt
    owner: str
    principal: str
    labels: _containers.ScalarMap[str, str]
    states: _containers.RepeatedScalarFieldContainer[_lock_pb2.ClaimState]
    end_reasons: _containers.RepeatedScalarFieldContainer[_lock_pb2.EndReason]
    until: _timestamp_pb2.Timestamp
    page_size: int
    page_token: str
    def __init__(self, lock_name: _Optional[str] = ..., prefix: _Optional[str] = ..., held_at: _Optional[_Union[HeldAt, _Mapping]] = ..., owner: _Optional[str] = ..., principal: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., states: _Optional[_Iterable[_Union[_lock_pb2.ClaimState, str]]] = ..., end_reasons: _Optional[_Iterable[_Union[_lock_pb2.EndReason, str]]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., **kwargs) -> None: ...

class HeldAt(_message.Message):
    __slots__ = ("lock_name", "at")
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    at: _timestamp_pb2.Timestamp
    def __init__(self, lock_name: _Optional[str] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListClaimsResponse(_message.Message):
    __slots__ = ("claims", "next_page_token", "searched_back_to", "complete_from")
    CLAIMS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEARCHED_BACK_TO_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FROM_FIELD_NUMBER: _ClassVar[int]
    claims: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Claim]
    next_page_token: str
    searched_back_to: _timestamp_pb2.Timestamp
    complete_from: _timestamp_pb2.Timestamp
    def __init__(self, claims: _Optional[_Iterable[_Union[_lock_pb2.Claim, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., searched_back_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., complete_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListChangesRequest(_message.Message):
    __slots__ = ("lock_name", "prefix", "kinds", "until", "changed_by", "page_size", "page_token")
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    prefix: str
    kinds: _containers.RepeatedScalarFieldContainer[_lock_pb2.ChangeKind]
    until: _timestamp_pb2.Timestamp
    changed_by: str
    page_size: int
    page_token: str
    def __init__(self, lock_name: _Optional[str] = ..., prefix: _Optional[str] = ..., kinds: _Optional[_Iterable[_Union[_lock_pb2.ChangeKind, str]]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., changed_by: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., **kwargs) -> None: ...

class ListChangesResponse(_message.Message):
    __slots__ = ("changes", "next_page_token", "searched_back_to", "complete_from")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SEARCHED_BACK_TO_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FROM_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Change]
    next_page_token: str
    searched_back_to: _timestamp_pb2.Timestamp
    complete_from: _timestamp_pb2.Timestamp
    def __init__(self, changes: _Optional[_Iterable[_Union[_lock_pb2.Change, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., searched_back_to: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., complete_from: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ExplainWaitRequest(_message.Message):
    __slots__ = ("name", "ticket_id", "claim")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    name: str
    ticket_id: str
    claim: ClaimReference
    def __init__(self, name: _Optional[str] = ..., ticket_id: _Optional[str] = ..., claim: _Optional[_Union[ClaimReference, _Mapping]] = ...) -> None: ...

class ExplainWaitResponse(_message.Message):
    __slots__ = ("lock", "claim", "causes", "summary", "estimate")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ESTIMATE_FIELD_NUMBER: _ClassVar[int]
    lock: _lock_pb2.Lock
    claim: _lock_pb2.Claim
    causes: _containers.RepeatedCompositeFieldContainer[_lock_pb2.WaitCause]
    summary: str
    estimate: _lock_pb2.WaitEstimate
    def __init__(self, lock: _Optional[_Union[_lock_pb2.Lock, _Mapping]] = ..., claim: _Optional[_Union[_lock_pb2.Claim, _Mapping]] = ..., causes: _Optional[_Iterable[_Union[_lock_pb2.WaitCause, _Mapping]]] = ..., summary: _Optional[str] = ..., estimate: _Optional[_Union[_lock_pb2.WaitEstimate, _Mapping]] = ...) -> None: ...

class ClaimReference(_message.Message):
    __slots__ = ("lock_name", "ticket_number")
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    TICKET_NUMBER_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    ticket_number: int
    def __init__(self, lock_name: _Optional[str] = ..., ticket_number: _Optional[int] = ...) -> None: ...

class ForceReleaseRequest(_message.Message):
    __slots__ = ("name", "claim", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    claim: ClaimReference
    reason: str
    def __init__(self, name: _Optional[str] = ..., claim: _Optional[_Union[ClaimReference, _Mapping]] = ..., reason: _Optional[str] = ...) -> None: ...

class ForceReleaseResponse(_message.Message):
    __slots__ = ("ended", "remaining")
    ENDED_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    ended: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Claim]
    remaining: int
    def __init__(self, ended: _Optional[_Iterable[_Union[_lock_pb2.Claim, _Mapping]]] = ..., remaining: _Optional[int] = ...) -> None: ...

class UpdateRecordRequest(_message.Message):
    __slots__ = ("name", "not_before", "not_before_in", "unset_not_before", "attempts_left", "unset_attempts_left", "status", "expected_version", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_IN_FIELD_NUMBER: _ClassVar[int]
    UNSET_NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    UNSET_ATTEMPTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    not_before: _timestamp_pb2.Timestamp
    not_before_in: _duration_pb2.Duration
    unset_not_before: _empty_pb2.Empty
    attempts_left: int
    unset_attempts_left: _empty_pb2.Empty
    status: str
    expected_version: int
    reason: str
    def __init__(self, name: _Optional[str] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., not_before_in: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., unset_not_before: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ..., attempts_left: _Optional[int] = ..., unset_attempts_left: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ..., status: _Optional[str] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class UpdateRecordResponse(_message.Message):
    __slots__ = ("record",)
    RECORD_FIELD_NUMBER: _ClassVar[int]
    record: _lock_pb2.LockRecord
    def __init__(self, record: _Optional[_Union[_lock_pb2.LockRecord, _Mapping]] = ...) -> None: ...

class DeleteRecordRequest(_message.Message):
    __slots__ = ("name", "expected_version", "reason")
    NAME_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    name: str
    expected_version: int
    reason: str
    def __init__(self, name: _Optional[str] = ..., expected_version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class DeleteRecordResponse(_message.Message):
    __slots__ = ("deleted",)
    DELETED_FIELD_NUMBER: _ClassVar[int]
    deleted: bool
    def __init__(self, deleted: bool = ...) -> None: ...

class CaptureRequest(_message.Message):
    __slots__ = ("prefix", "names", "max_leases", "terms", "request_id", "max_wait")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    NAMES_FIELD_NUMBER: _ClassVar[int]
    MAX_LEASES_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    names: LockNames
    max_leases: int
    terms: _lock_pb2.LeaseTerms
    request_id: str
    max_wait: _duration_pb2.Duration
    def __init__(self, prefix: _Optional[str] = ..., names: _Optional[_Union[LockNames, _Mapping]] = ..., max_leases: _Optional[int] = ..., terms: _Optional[_Union[_lock_pb2.LeaseTerms, _Mapping]] = ..., request_id: _Optional[str] = ..., max_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class LockNames(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class CaptureResponse(_message.Message):
    __slots__ = ("leases", "retry_after", "is_repeated")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    IS_REPEATED_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Lease]
    retry_after: _duration_pb2.Duration
    is_repeated: bool
    def __init__(self, leases: _Optional[_Iterable[_Union[_lock_pb2.Lease, _Mapping]]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., is_repeated: bool = ...) -> None: ...

class SessionRequest(_message.Message):
    __slots__ = ("open", "commands", "received")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    open: SessionOpen
    commands: _containers.RepeatedCompositeFieldContainer[SessionCommand]
    received: int
    def __init__(self, open: _Optional[_Union[SessionOpen, _Mapping]] = ..., commands: _Optional[_Iterable[_Union[SessionCommand, _Mapping]]] = ..., received: _Optional[int] = ...) -> None: ...

class SessionOpen(_message.Message):
    __slots__ = ("owner", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    owner: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, owner: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class SessionCommand(_message.Message):
    __slots__ = ("call", "timeout", "traceparent", "cancel", "acquire", "wait_in_queue", "renew", "renew_leases", "release", "capture", "set_limit", "update_record", "delete_record", "force_release", "get_lock", "list_locks", "list_limits", "list_claims", "list_changes", "explain_wait", "watch_locks")
    CALL_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    CANCEL_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_FIELD_NUMBER: _ClassVar[int]
    WAIT_IN_QUEUE_FIELD_NUMBER: _ClassVar[int]
    RENEW_FIELD_NUMBER: _ClassVar[int]
    RENEW_LEASES_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    SET_LIMIT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_RECORD_FIELD_NUMBER: _ClassVar[int]
    DELETE_RECORD_FIELD_NUMBER: _ClassVar[int]
    FORCE_RELEASE_FIELD_NUMBER: _ClassVar[int]
    GET_LOCK_FIELD_NUMBER: _ClassVar[int]
    LIST_LOCKS_FIELD_NUMBER: _ClassVar[int]
    LIST_LIMITS_FIELD_NUMBER: _ClassVar[int]
    LIST_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    LIST_CHANGES_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_WAIT_FIELD_NUMBER: _ClassVar[int]
    WATCH_LOCKS_FIELD_NUMBER: _ClassVar[int]
    call: int
    timeout: _duration_pb2.Duration
    traceparent: str
    cancel: int
    acquire: AcquireRequest
    wait_in_queue: WaitInQueueRequest
    renew: RenewRequest
    renew_leases: RenewLeases
    release: ReleaseRequest
    capture: CaptureRequest
    set_limit: SetLimitRequest
    update_record: UpdateRecordRequest
    delete_record: DeleteRecordRequest
    force_release: ForceReleaseRequest
    get_lock: GetLockRequest
    list_locks: ListLocksRequest
    list_limits: ListLimitsRequest
    list_claims: ListClaimsRequest
    list_changes: ListChangesRequest
    explain_wait: ExplainWaitRequest
    watch_locks: WatchLocksRequest
    def __init__(self, call: _Optional[int] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., traceparent: _Optional[str] = ..., cancel: _Optional[int] = ..., acquire: _Optional[_Union[AcquireRequest, _Mapping]] = ..., wait_in_queue: _Optional[_Union[WaitInQueueRequest, _Mapping]] = ..., renew: _Optional[_Union[RenewRequest, _Mapping]] = ..., renew_leases: _Optional[_Union[RenewLeases, _Mapping]] = ..., release: _Optional[_Union[ReleaseRequest, _Mapping]] = ..., capture: _Optional[_Union[CaptureRequest, _Mapping]] = ..., set_limit: _Optional[_Union[SetLimitRequest, _Mapping]] = ..., update_record: _Optional[_Union[UpdateRecordRequest, _Mapping]] = ..., delete_record: _Optional[_Union[DeleteRecordRequest, _Mapping]] = ..., force_release: _Optional[_Union[ForceReleaseRequest, _Mapping]] = ..., get_lock: _Optional[_Union[GetLockRequest, _Mapping]] = ..., list_locks: _Optional[_Union[ListLocksRequest, _Mapping]] = ..., list_limits: _Optional[_Union[ListLimitsRequest, _Mapping]] = ..., list_claims: _Optional[_Union[ListClaimsRequest, _Mapping]] = ..., list_changes: _Optional[_Union[ListChangesRequest, _Mapping]] = ..., explain_wait: _Optional[_Union[ExplainWaitRequest, _Mapping]] = ..., watch_locks: _Optional[_Union[WatchLocksRequest, _Mapping]] = ...) -> None: ...

class RenewLeases(_message.Message):
    __slots__ = ("leases",)
    LEASES_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[RenewRequest]
    def __init__(self, leases: _Optional[_Iterable[_Union[RenewRequest, _Mapping]]] = ...) -> None: ...

class RenewedLeases(_message.Message):
    __slots__ = ("leases",)
    LEASES_FIELD_NUMBER: _ClassVar[int]
    leases: _containers.RepeatedCompositeFieldContainer[RenewedLease]
    def __init__(self, leases: _Optional[_Iterable[_Union[RenewedLease, _Mapping]]] = ...) -> None: ...

class RenewedLease(_message.Message):
    __slots__ = ("lease", "error")
    LEASE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    lease: _lock_pb2.Lease
    error: _status_pb2.Status
    def __init__(self, lease: _Optional[_Union[_lock_pb2.Lease, _Mapping]] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class SessionResponse(_message.Message):
    __slots__ = ("opened", "results", "heard", "lost", "confirmed", "going_away")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    HEARD_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    CONFIRMED_FIELD_NUMBER: _ClassVar[int]
    GOING_AWAY_FIELD_NUMBER: _ClassVar[int]
    opened: SessionOpened
    results: _containers.RepeatedCompositeFieldContainer[SessionResult]
    heard: int
    lost: _containers.RepeatedCompositeFieldContainer[LostLease]
    confirmed: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Lease]
    going_away: bool
    def __init__(self, opened: _Optional[_Union[SessionOpened, _Mapping]] = ..., results: _Optional[_Iterable[_Union[SessionResult, _Mapping]]] = ..., heard: _Optional[int] = ..., lost: _Optional[_Iterable[_Union[LostLease, _Mapping]]] = ..., confirmed: _Optional[_Iterable[_Union[_lock_pb2.Lease, _Mapping]]] = ..., going_away: bool = ...) -> None: ...

class SessionOpened(_message.Message):
    __slots__ = ("replica", "heartbeat_interval", "silence_max", "grace_period", "waits_max", "commands_max", "message_bytes_max")
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    SILENCE_MAX_FIELD_NUMBER: _ClassVar[int]
    GRACE_PERIOD_FIELD_NUMBER: _ClassVar[int]
    WAITS_MAX_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_MAX_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    replica: str
    heartbeat_interval: _duration_pb2.Duration
    silence_max: _duration_pb2.Duration
    grace_period: _duration_pb2.Duration
    waits_max: int
    commands_max: int
    message_bytes_max: int
    def __init__(self, replica: _Optional[str] = ..., heartbeat_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., silence_max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., grace_period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., waits_max: _Optional[int] = ..., commands_max: _Optional[int] = ..., message_bytes_max: _Optional[int] = ...) -> None: ...

class SessionResult(_message.Message):
    __slots__ = ("call", "error", "rejected", "acquire", "wait_in_queue", "renew", "renew_leases", "release", "capture", "set_limit", "update_record", "delete_record", "force_release", "get_lock", "list_locks", "list_limits", "list_claims", "list_changes", "explain_wait", "watch_locks")
    CALL_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_FIELD_NUMBER: _ClassVar[int]
    WAIT_IN_QUEUE_FIELD_NUMBER: _ClassVar[int]
    RENEW_FIELD_NUMBER: _ClassVar[int]
    RENEW_LEASES_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    CAPTURE_FIELD_NUMBER: _ClassVar[int]
    SET_LIMIT_FIELD_NUMBER: _ClassVar[int]
    UPDATE_RECORD_FIELD_NUMBER: _ClassVar[int]
    DELETE_RECORD_FIELD_NUMBER: _ClassVar[int]
    FORCE_RELEASE_FIELD_NUMBER: _ClassVar[int]
    GET_LOCK_FIELD_NUMBER: _ClassVar[int]
    LIST_LOCKS_FIELD_NUMBER: _ClassVar[int]
    LIST_LIMITS_FIELD_NUMBER: _ClassVar[int]
    LIST_CLAIMS_FIELD_NUMBER: _ClassVar[int]
    LIST_CHANGES_FIELD_NUMBER: _ClassVar[int]
    EXPLAIN_WAIT_FIELD_NUMBER: _ClassVar[int]
    WATCH_LOCKS_FIELD_NUMBER: _ClassVar[int]
    call: int
    error: _status_pb2.Status
    rejected: _status_pb2.Status
    acquire: AcquireResponse
    wait_in_queue: WaitInQueueResponse
    renew: RenewResponse
    renew_leases: RenewedLeases
    release: ReleaseResponse
    capture: CaptureResponse
    set_limit: SetLimitResponse
    update_record: UpdateRecordResponse
    delete_record: DeleteRecordResponse
    force_release: ForceReleaseResponse
    get_lock: GetLockResponse
    list_locks: ListLocksResponse
    list_limits: ListLimitsResponse
    list_claims: ListClaimsResponse
    list_changes: ListChangesResponse
    explain_wait: ExplainWaitResponse
    watch_locks: WatchLocksResponse
    def __init__(self, call: _Optional[int] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., rejected: _Optional[_Union[_status_pb2.Status, _Mapping]] = ..., acquire: _Optional[_Union[AcquireResponse, _Mapping]] = ..., wait_in_queue: _Optional[_Union[WaitInQueueResponse, _Mapping]] = ..., renew: _Optional[_Union[RenewResponse, _Mapping]] = ..., renew_leases: _Optional[_Union[RenewedLeases, _Mapping]] = ..., release: _Optional[_Union[ReleaseResponse, _Mapping]] = ..., capture: _Optional[_Union[CaptureResponse, _Mapping]] = ..., set_limit: _Optional[_Union[SetLimitResponse, _Mapping]] = ..., update_record: _Optional[_Union[UpdateRecordResponse, _Mapping]] = ..., delete_record: _Optional[_Union[DeleteRecordResponse, _Mapping]] = ..., force_release: _Optional[_Union[ForceReleaseResponse, _Mapping]] = ..., get_lock: _Optional[_Union[GetLockResponse, _Mapping]] = ..., list_locks: _Optional[_Union[ListLocksResponse, _Mapping]] = ..., list_limits: _Optional[_Union[ListLimitsResponse, _Mapping]] = ..., list_claims: _Optional[_Union[ListClaimsResponse, _Mapping]] = ..., list_changes: _Optional[_Union[ListChangesResponse, _Mapping]] = ..., explain_wait: _Optional[_Union[ExplainWaitResponse, _Mapping]] = ..., watch_locks: _Optional[_Union[WatchLocksResponse, _Mapping]] = ...) -> None: ...

class LostLease(_message.Message):
    __slots__ = ("lease_id", "lock_name", "end")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    lock_name: str
    end: _lock_pb2.ClaimEnd
    def __init__(self, lease_id: _Optional[str] = ..., lock_name: _Optional[str] = ..., end: _Optional[_Union[_lock_pb2.ClaimEnd, _Mapping]] = ...) -> None: ...
