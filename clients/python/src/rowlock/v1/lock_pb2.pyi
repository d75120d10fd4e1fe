import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import empty_pb2 as _empty_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODE_UNSPECIFIED: _ClassVar[Mode]
    MODE_PERMIT: _ClassVar[Mode]
    MODE_SHARED: _ClassVar[Mode]
    MODE_EXCLUSIVE: _ClassVar[Mode]

class RefusalReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFUSAL_REASON_UNSPECIFIED: _ClassVar[RefusalReason]
    REFUSAL_REASON_BUSY: _ClassVar[RefusalReason]
    REFUSAL_REASON_PAUSED: _ClassVar[RefusalReason]
    REFUSAL_REASON_NOT_BEFORE: _ClassVar[RefusalReason]
    REFUSAL_REASON_QUEUE_FULL: _ClassVar[RefusalReason]
    REFUSAL_REASON_NEVER_FITS: _ClassVar[RefusalReason]
    REFUSAL_REASON_EXHAUSTED: _ClassVar[RefusalReason]
    REFUSAL_REASON_STATUS_MISMATCH: _ClassVar[RefusalReason]
    REFUSAL_REASON_RATE: _ClassVar[RefusalReason]

class EndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_REASON_UNSPECIFIED: _ClassVar[EndReason]
    END_REASON_RELEASED: _ClassVar[EndReason]
    END_REASON_EXPIRED: _ClassVar[EndReason]
    END_REASON_FORCE_RELEASED: _ClassVar[EndReason]
    END_REASON_LAPSED: _ClassVar[EndReason]
    END_REASON_CANCELLED: _ClassVar[EndReason]
    END_REASON_TIMED_OUT: _ClassVar[EndReason]
    END_REASON_NEVER_FITS: _ClassVar[EndReason]
    END_REASON_EXHAUSTED: _ClassVar[EndReason]
    END_REASON_STATUS_MISMATCH: _ClassVar[EndReason]
    END_REASON_SPENT: _ClassVar[EndReason]
    END_REASON_SUPERSEDED: _ClassVar[EndReason]
    END_REASON_FAILED: _ClassVar[EndReason]

class ClaimState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLAIM_STATE_UNSPECIFIED: _ClassVar[ClaimState]
    CLAIM_STATE_WAITING: _ClassVar[ClaimState]
    CLAIM_STATE_HELD: _ClassVar[ClaimState]
    CLAIM_STATE_ENDED: _ClassVar[ClaimState]

class ChangeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_KIND_UNSPECIFIED: _ClassVar[ChangeKind]
    CHANGE_KIND_LIMIT: _ClassVar[ChangeKind]
    CHANGE_KIND_RECORD: _ClassVar[ChangeKind]
    CHANGE_KIND_FORCED_RELEASE: _ClassVar[ChangeKind]
    CHANGE_KIND_POLICY: _ClassVar[ChangeKind]

class LimitSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIMIT_SOURCE_UNSPECIFIED: _ClassVar[LimitSource]
    LIMIT_SOURCE_DEFAULT: _ClassVar[LimitSource]
    LIMIT_SOURCE_PATTERN: _ClassVar[LimitSource]
    LIMIT_SOURCE_NAME: _ClassVar[LimitSource]
    LIMIT_SOURCE_POOL: _ClassVar[LimitSource]

class WhenFull(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WHEN_FULL_UNSPECIFIED: _ClassVar[WhenFull]
    WHEN_FULL_REFUSE: _ClassVar[WhenFull]
    WHEN_FULL_END_LONGEST_WAITING: _ClassVar[WhenFull]
MODE_UNSPECIFIED: Mode
MODE_PERMIT: Mode
MODE_SHARED: Mode
MODE_EXCLUSIVE: Mode
REFUSAL_REASON_UNSPECIFIED: RefusalReason
REFUSAL_REASON_BUSY: RefusalReason
REFUSAL_REASON_PAUSED: RefusalReason
REFUSAL_REASON_NOT_BEFORE: RefusalReason
REFUSAL_REASON_QUEUE_FULL: RefusalReason
REFUSAL_REASON_NEVER_FITS: RefusalReason
REFUSAL_REASON_EXHAUSTED: RefusalReason
REFUSAL_REASON_STATUS_MISMATCH: RefusalReason
REFUSAL_REASON_RATE: RefusalReason
END_REASON_UNSPECIFIED: EndReason
END_REASON_RELEASED: EndReason
END_REASON_EXPIRED: EndReason
END_REASON_FORCE_RELEASED: EndReason
END_REASON_LAPSED: EndReason
END_REASON_CANCELLED: EndReason
END_REASON_TIMED_OUT: EndReason
END_REASON_NEVER_FITS: EndReason
END_REASON_EXHAUSTED: EndReason
END_REASON_STATUS_MISMATCH: EndReason
END_REASON_SPENT: EndReason
END_REASON_SUPERSEDED: EndReason
END_REASON_FAILED: EndReason
CLAIM_STATE_UNSPECIFIED: ClaimState
CLAIM_STATE_WAITING: ClaimState
CLAIM_STATE_HELD: ClaimState
CLAIM_STATE_ENDED: ClaimState
CHANGE_KIND_UNSPECIFIED: ChangeKind
CHANGE_KIND_LIMIT: ChangeKind
CHANGE_KIND_RECORD: ChangeKind
CHANGE_KIND_FORCED_RELEASE: ChangeKind
CHANGE_KIND_POLICY: ChangeKind
LIMIT_SOURCE_UNSPECIFIED: LimitSource
LIMIT_SOURCE_DEFAULT: LimitSource
LIMIT_SOURCE_PATTERN: LimitSource
LIMIT_SOURCE_NAME: LimitSource
LIMIT_SOURCE_POOL: LimitSource
WHEN_FULL_UNSPECIFIED: WhenFull
WHEN_FULL_REFUSE: WhenFull
WHEN_FULL_END_LONGEST_WAITING: WhenFull

class LeaseTerms(_message.Message):
    __slots__ = ("ttl", "no_expiry", "owner", "labels", "min_interval", "lock_delay", "status_if_lost", "if_status", "backoff")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TTL_FIELD_NUMBER: _ClassVar[int]
    NO_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MIN_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    LOCK_DELAY_FIELD_NUMBER: _ClassVar[int]
    STATUS_IF_LOST_FIELD_NUMBER: _ClassVar[int]
    IF_STATUS_FIELD_NUMBER: _ClassVar[int]
    BACKOFF_FIELD_NUMBER: _ClassVar[int]
    ttl: _duration_pb2.Duration
    no_expiry: _empty_pb2.Empty
    owner: str
    labels: _containers.ScalarMap[str, str]
    min_interval: _duration_pb2.Duration
    lock_delay: _duration_pb2.Duration
    status_if_lost: str
    if_status: _containers.RepeatedScalarFieldContainer[str]
    backoff: Backoff
    def __init__(self, ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., no_expiry: _Optional[_Union[_empty_pb2.Empty, _Mapping]] = ..., owner: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., min_interval: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lock_delay: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., status_if_lost: _Optional[str] = ..., if_status: _Optional[_Iterable[str]] = ..., backoff: _Optional[_Union[Backoff, _Mapping]] = ...) -> None: ...

class Backoff(_message.Message):
    __slots__ = ("first", "max")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    first: _duration_pb2.Duration
    max: _duration_pb2.Duration
    def __init__(self, first: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("lease_id", "lock_name", "mode", "permits", "fencing_token", "ttl", "granted_at", "expires_at", "request_id", "provisional", "also")
    LEASE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PROVISIONAL_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    lease_id: str
    lock_name: str
    mode: Mode
    permits: int
    fencing_token: int
    ttl: _duration_pb2.Duration
    granted_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    request_id: str
    provisional: bool
    also: _containers.RepeatedCompositeFieldContainer[ClaimedLock]
    def __init__(self, lease_id: _Optional[str] = ..., lock_name: _Optional[str] = ..., mode: _Optional[_Union[Mode, str]] = ..., permits: _Optional[int] = ..., fencing_token: _Optional[int] = ..., ttl: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., request_id: _Optional[str] = ..., provisional: bool = ..., also: _Optional[_Iterable[_Union[ClaimedLock, _Mapping]]] = ...) -> None: ...

class ClaimedLock(_message.Message):
    __slots__ = ("lock_name", "mode", "permits", "fencing_token")
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    mode: Mode
    permits: int
    fencing_token: int
    def __init__(self, lock_name: _Optional[str] = ..., mode: _Optional[_Union[Mode, str]] = ..., permits: _Optional[int] = ..., fencing_token: _Optional[int] = ...) -> None: ...

class Ticket(_message.Message):
    __slots__ = ("ticket_id", "lock_name", "ahead", "permits_ahead", "queue_length", "waited", "kept_for", "rate_wait", "pool", "waits_for")
    TICKET_ID_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    PERMITS_AHEAD_FIELD_NUMBER: _ClassVar[int]
    QUEUE_LENGTH_FIELD_NUMBER: _ClassVar[int]
    WAITED_FIELD_NUMBER: _ClassVar[int]
    KEPT_FOR_FIELD_NUMBER: _ClassVar[int]
    RATE_WAIT_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    ticket_id: str
    lock_name: str
    ahead: int
    permits_ahead: int
    queue_length: int
    waited: _duration_pb2.Duration
    kept_for: _duration_pb2.Duration
    rate_wait: _duration_pb2.Duration
    pool: str
    waits_for: str
    def __init__(self, ticket_id: _Optional[str] = ..., lock_name: _Optional[str] = ..., ahead: _Optional[int] = ..., permits_ahead: _Optional[int] = ..., queue_length: _Optional[int] = ..., waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., kept_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., rate_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., pool: _Optional[str] = ..., waits_for: _Optional[str] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("reason", "message", "holders", "retry_after", "limit", "status", "rate", "lock_name", "queue_rules")
    REASON_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_FIELD_NUMBER: _ClassVar[int]
    reason: RefusalReason
    message: str
    holders: _containers.RepeatedCompositeFieldContainer[Claim]
    retry_after: _duration_pb2.Duration
    limit: Limit
    status: str
    rate: RateInForce
    lock_name: str
    queue_rules: QueueRulesInForce
    def __init__(self, reason: _Optional[_Union[RefusalReason, str]] = ..., message: _Optional[str] = ..., holders: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., limit: _Optional[_Union[Limit, _Mapping]] = ..., status: _Optional[str] = ..., rate: _Optional[_Union[RateInForce, _Mapping]] = ..., lock_name: _Optional[str] = ..., queue_rules: _Optional[_Union[QueueRulesInForce, _Mapping]] = ...) -> None: ...

class ClaimEnd(_message.Message):
    __slots__ = ("reason", "ended_at", "ended_by", "note", "status", "message", "holders", "retry_after", "limit", "lock_name")
    REASON_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    reason: EndReason
    ended_at: _timestamp_pb2.Timestamp
    ended_by: str
    note: str
    status: str
    message: str
    holders: _containers.RepeatedCompositeFieldContainer[Claim]
    retry_after: _duration_pb2.Duration
    limit: Limit
    lock_name: str
    def __init__(self, reason: _Optional[_Union[EndReason, str]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_by: _Optional[str] = ..., note: _Optional[str] = ..., status: _Optional[str] = ..., message: _Optional[str] = ..., holders: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., limit: _Optional[_Union[Limit, _Mapping]] = ..., lock_name: _Optional[str] = ...) -> None: ...

class Claim(_message.Message):
    __slots__ = ("lock_name", "ticket_number", "state", "mode", "permits", "owner", "labels", "fencing_token", "requested_at", "granted_at", "expires_at", "provisional", "principal", "end", "replica", "spend_only", "pool", "also")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    TICKET_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_AT_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    PROVISIONAL_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    REPLICA_FIELD_NUMBER: _ClassVar[int]
    SPEND_ONLY_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    ALSO_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    ticket_number: int
    state: ClaimState
    mode: Mode
    permits: int
    owner: str
    labels: _containers.ScalarMap[str, str]
    fencing_token: int
    requested_at: _timestamp_pb2.Timestamp
    granted_at: _timestamp_pb2.Timestamp
    expires_at: _timestamp_pb2.Timestamp
    provisional: bool
    principal: str
    end: ClaimEnd
    replica: str
    spend_only: bool
    pool: str
    also: _containers.RepeatedCompositeFieldContainer[ClaimedLock]
    def __init__(self, lock_name: _Optional[str] = ..., ticket_number: _Optional[int] = ..., state: _Optional[_Union[ClaimState, str]] = ..., mode: _Optional[_Union[Mode, str]] = ..., permits: _Optional[int] = ..., owner: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., fencing_token: _Optional[int] = ..., requested_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., provisional: bool = ..., principal: _Optional[str] = ..., end: _Optional[_Union[ClaimEnd, _Mapping]] = ..., replica: _Optional[str] = ..., spend_only: bool = ..., pool: _Optional[str] = ..., also: _Optional[_Iterable[_Union[ClaimedLock, _Mapping]]] = ...) -> None: ...

class Change(_message.Message):
    __slots__ = ("changed_at", "lock_name", "pattern", "pool", "changed_by", "reason", "limit", "record", "forced_release", "policy")
    CHANGED_AT_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    CHANGED_BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    FORCED_RELEASE_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    changed_at: _timestamp_pb2.Timestamp
    lock_name: str
    pattern: str
    pool: str
    changed_by: str
    reason: str
    limit: LimitChange
    record: RecordChange
    forced_release: ForcedRelease
    policy: PolicyChange
    def __init__(self, changed_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., lock_name: _Optional[str] = ..., pattern: _Optional[str] = ..., pool: _Optional[str] = ..., changed_by: _Optional[str] = ..., reason: _Optional[str] = ..., limit: _Optional[_Union[LimitChange, _Mapping]] = ..., record: _Optional[_Union[RecordChange, _Mapping]] = ..., forced_release: _Optional[_Union[ForcedRelease, _Mapping]] = ..., policy: _Optional[_Union[PolicyChange, _Mapping]] = ...) -> None: ...

class LimitChange(_message.Message):
    __slots__ = ("to", "rate_from", "rate_to", "queue_rules_from", "queue_rules_to")
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    RATE_FROM_FIELD_NUMBER: _ClassVar[int]
    RATE_TO_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_FROM_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_TO_FIELD_NUMBER: _ClassVar[int]
    to: int
    rate_from: Rate
    rate_to: Rate
    queue_rules_from: QueueRules
    queue_rules_to: QueueRules
    def __init__(self, to: _Optional[int] = ..., rate_from: _Optional[_Union[Rate, _Mapping]] = ..., rate_to: _Optional[_Union[Rate, _Mapping]] = ..., queue_rules_from: _Optional[_Union[QueueRules, _Mapping]] = ..., queue_rules_to: _Optional[_Union[QueueRules, _Mapping]] = ..., **kwargs) -> None: ...

class RecordChange(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: LockRecord
    def __init__(self, to: _Optional[_Union[LockRecord, _Mapping]] = ..., **kwargs) -> None: ...

class ForcedRelease(_message.Message):
    __slots__ = ("claim",)
    CLAIM_FIELD_NUMBER: _ClassVar[int]
    claim: Claim
    def __init__(self, claim: _Optional[_Union[Claim, _Mapping]] = ...) -> None: ...

class PolicyChange(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: str
    def __init__(self, to: _Optional[str] = ..., **kwargs) -> None: ...

class WaitCause(_message.Message):
    __slots__ = ("held", "queued", "limit", "not_before", "exhausted", "status", "failed_over_until", "rows", "rate", "pool", "lock_name")
    HELD_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    EXHAUSTED_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    FAILED_OVER_UNTIL_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    POOL_FIELD_NUMBER: _ClassVar[int]
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    held: HeldByOthers
    queued: QueuedBehind
    limit: LimitInTheWay
    not_before: _timestamp_pb2.Timestamp
    exhausted: bool
    status: str
    failed_over_until: _timestamp_pb2.Timestamp
    rows: RowsHeld
    rate: RateInTheWay
    pool: PoolInTheWay
    lock_name: str
    def __init__(self, held: _Optional[_Union[HeldByOthers, _Mapping]] = ..., queued: _Optional[_Union[QueuedBehind, _Mapping]] = ..., limit: _Optional[_Union[LimitInTheWay, _Mapping]] = ..., not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., exhausted: bool = ..., status: _Optional[str] = ..., failed_over_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., rows: _Optional[_Union[RowsHeld, _Mapping]] = ..., rate: _Optional[_Union[RateInTheWay, _Mapping]] = ..., pool: _Optional[_Union[PoolInTheWay, _Mapping]] = ..., lock_name: _Optional[str] = ...) -> None: ...

class PoolInTheWay(_message.Message):
    __slots__ = ("limit", "use", "waits_here", "ahead", "permits_ahead", "rate", "rate_until")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    WAITS_HERE_FIELD_NUMBER: _ClassVar[int]
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    PERMITS_AHEAD_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    RATE_UNTIL_FIELD_NUMBER: _ClassVar[int]
    limit: Limit
    use: PoolUse
    waits_here: bool
    ahead: int
    permits_ahead: int
    rate: RateInForce
    rate_until: _timestamp_pb2.Timestamp
    def __init__(self, limit: _Optional[_Union[Limit, _Mapping]] = ..., use: _Optional[_Union[PoolUse, _Mapping]] = ..., waits_here: bool = ..., ahead: _Optional[int] = ..., permits_ahead: _Optional[int] = ..., rate: _Optional[_Union[RateInForce, _Mapping]] = ..., rate_until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PoolUse(_message.Message):
    __slots__ = ("held_permits", "holder_count", "waiter_count", "draining", "counting", "available")
    HELD_PERMITS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_COUNT_FIELD_NUMBER: _ClassVar[int]
    WAITER_COUNT_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    COUNTING_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    held_permits: int
    holder_count: int
    waiter_count: int
    draining: bool
    counting: bool
    available: int
    def __init__(self, held_permits: _Optional[int] = ..., holder_count: _Optional[int] = ..., waiter_count: _Optional[int] = ..., draining: bool = ..., counting: bool = ..., available: _Optional[int] = ...) -> None: ...

class PoolInForce(_message.Message):
    __slots__ = ("limit", "rate", "use", "pattern")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    USE_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    limit: Limit
    rate: RateInForce
    use: PoolUse
    pattern: str
    def __init__(self, limit: _Optional[_Union[Limit, _Mapping]] = ..., rate: _Optional[_Union[RateInForce, _Mapping]] = ..., use: _Optional[_Union[PoolUse, _Mapping]] = ..., pattern: _Optional[str] = ...) -> None: ...

class HeldByOthers(_message.Message):
    __slots__ = ("holders", "holder_count", "first_ends_at")
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_COUNT_FIELD_NUMBER: _ClassVar[int]
    FIRST_ENDS_AT_FIELD_NUMBER: _ClassVar[int]
    holders: _containers.RepeatedCompositeFieldContainer[Claim]
    holder_count: int
    first_ends_at: _timestamp_pb2.Timestamp
    def __init__(self, holders: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., holder_count: _Optional[int] = ..., first_ends_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class QueuedBehind(_message.Message):
    __slots__ = ("ahead", "permits_ahead", "first")
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    PERMITS_AHEAD_FIELD_NUMBER: _ClassVar[int]
    FIRST_FIELD_NUMBER: _ClassVar[int]
    ahead: int
    permits_ahead: int
    first: _containers.RepeatedCompositeFieldContainer[Claim]
    def __init__(self, ahead: _Optional[int] = ..., permits_ahead: _Optional[int] = ..., first: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ...) -> None: ...

class LimitInTheWay(_message.Message):
    __slots__ = ("limit", "set_at", "set_by")
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SET_AT_FIELD_NUMBER: _ClassVar[int]
    SET_BY_FIELD_NUMBER: _ClassVar[int]
    limit: Limit
    set_at: _timestamp_pb2.Timestamp
    set_by: str
    def __init__(self, limit: _Optional[_Union[Limit, _Mapping]] = ..., set_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., set_by: _Optional[str] = ...) -> None: ...

class RateInTheWay(_message.Message):
    __slots__ = ("rate", "until")
    RATE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    rate: RateInForce
    until: _timestamp_pb2.Timestamp
    def __init__(self, rate: _Optional[_Union[RateInForce, _Mapping]] = ..., until: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class RowsHeld(_message.Message):
    __slots__ = ("connection_id", "user", "held_for")
    CONNECTION_ID_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    HELD_FOR_FIELD_NUMBER: _ClassVar[int]
    connection_id: int
    user: str
    held_for: _duration_pb2.Duration
    def __init__(self, connection_id: _Optional[int] = ..., user: _Optional[str] = ..., held_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class WaitEstimate(_message.Message):
    __slots__ = ("median", "low", "high", "leases")
    MEDIAN_FIELD_NUMBER: _ClassVar[int]
    LOW_FIELD_NUMBER: _ClassVar[int]
    HIGH_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    median: _duration_pb2.Duration
    low: _duration_pb2.Duration
    high: _duration_pb2.Duration
    leases: int
    def __init__(self, median: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., low: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., high: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., leases: _Optional[int] = ...) -> None: ...

class Limit(_message.Message):
    __slots__ = ("permits", "source", "pattern", "version", "reason")
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    permits: int
    source: LimitSource
    pattern: str
    version: int
    reason: str
    def __init__(self, permits: _Optional[int] = ..., source: _Optional[_Union[LimitSource, str]] = ..., pattern: _Optional[str] = ..., version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Rate(_message.Message):
    __slots__ = ("permits", "per", "burst")
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    PER_FIELD_NUMBER: _ClassVar[int]
    BURST_FIELD_NUMBER: _ClassVar[int]
    permits: int
    per: _duration_pb2.Duration
    burst: int
    def __init__(self, permits: _Optional[int] = ..., per: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., burst: _Optional[int] = ...) -> None: ...

class RateInForce(_message.Message):
    __slots__ = ("rate", "source", "pattern", "version", "reason", "available")
    RATE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    rate: Rate
    source: LimitSource
    pattern: str
    version: int
    reason: str
    available: int
    def __init__(self, rate: _Optional[_Union[Rate, _Mapping]] = ..., source: _Optional[_Union[LimitSource, str]] = ..., pattern: _Optional[str] = ..., version: _Optional[int] = ..., reason: _Optional[str] = ..., available: _Optional[int] = ...) -> None: ...

class QueueRules(_message.Message):
    __slots__ = ("waiting_max", "when_full", "share_by", "head_start_max")
    WAITING_MAX_FIELD_NUMBER: _ClassVar[int]
    WHEN_FULL_FIELD_NUMBER: _ClassVar[int]
    SHARE_BY_FIELD_NUMBER: _ClassVar[int]
    HEAD_START_MAX_FIELD_NUMBER: _ClassVar[int]
    waiting_max: int
    when_full: WhenFull
    share_by: str
    head_start_max: _duration_pb2.Duration
    def __init__(self, waiting_max: _Optional[int] = ..., when_full: _Optional[_Union[WhenFull, str]] = ..., share_by: _Optional[str] = ..., head_start_max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class QueueRulesInForce(_message.Message):
    __slots__ = ("rules", "source", "pattern", "version", "reason")
    RULES_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    rules: QueueRules
    source: LimitSource
    pattern: str
    version: int
    reason: str
    def __init__(self, rules: _Optional[_Union[QueueRules, _Mapping]] = ..., source: _Optional[_Union[LimitSource, str]] = ..., pattern: _Optional[str] = ..., version: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class Spent(_message.Message):
    __slots__ = ("lock_name", "permits", "fencing_token", "spent_at", "request_id")
    LOCK_NAME_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SPENT_AT_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    lock_name: str
    permits: int
    fencing_token: int
    spent_at: _timestamp_pb2.Timestamp
    request_id: str
    def __init__(self, lock_name: _Optional[str] = ..., permits: _Optional[int] = ..., fencing_token: _Optional[int] = ..., spent_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., request_id: _Optional[str] = ...) -> None: ...

class LockRecord(_message.Message):
    __slots__ = ("not_before", "attempts_left", "status", "last_run", "version", "last_success", "failures")
    NOT_BEFORE_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_LEFT_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LAST_SUCCESS_FIELD_NUMBER: _ClassVar[int]
    FAILURES_FIELD_NUMBER: _ClassVar[int]
    not_before: _timestamp_pb2.Timestamp
    attempts_left: int
    status: str
    last_run: LastRun
    version: int
    last_success: LastRun
    failures: int
    def __init__(self, not_before: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., attempts_left: _Optional[int] = ..., status: _Optional[str] = ..., last_run: _Optional[_Union[LastRun, _Mapping]] = ..., version: _Optional[int] = ..., last_success: _Optional[_Union[LastRun, _Mapping]] = ..., failures: _Optional[int] = ...) -> None: ...

class LastRun(_message.Message):
    __slots__ = ("owner", "fencing_token", "granted_at", "ended_at", "end_reason", "status")
    OWNER_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    GRANTED_AT_FIELD_NUMBER: _ClassVar[int]
    ENDED_AT_FIELD_NUMBER: _ClassVar[int]
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    owner: str
    fencing_token: int
    granted_at: _timestamp_pb2.Timestamp
    ended_at: _timestamp_pb2.Timestamp
    end_reason: EndReason
    status: str
    def __init__(self, owner: _Optional[str] = ..., fencing_token: _Optional[int] = ..., granted_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., end_reason: _Optional[_Union[EndReason, str]] = ..., status: _Optional[str] = ...) -> None: ...

class Lock(_message.Message):
    __slots__ = ("name", "limit", "held_permits", "holder_count", "waiter_count", "draining", "last_fencing_token", "holders", "waiters", "record", "rate", "pools", "queue_rules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    HELD_PERMITS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_COUNT_FIELD_NUMBER: _ClassVar[int]
    WAITER_COUNT_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    LAST_FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    WAITERS_FIELD_NUMBER: _ClassVar[int]
    RECORD_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    POOLS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_RULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    limit: Limit
    held_permits: int
    holder_count: int
    waiter_count: int
    draining: bool
    last_fencing_token: int
    holders: _containers.RepeatedCompositeFieldContainer[Claim]
    waiters: _containers.RepeatedCompositeFieldContainer[Claim]
    record: LockRecord
    rate: RateInForce
    pools: _containers.RepeatedCompositeFieldContainer[PoolInForce]
    queue_rules: QueueRulesInForce
    def __init__(self, name: _Optional[str] = ..., limit: _Optional[_Union[Limit, _Mapping]] = ..., held_permits: _Optional[int] = ..., holder_count: _Optional[int] = ..., waiter_count: _Optional[int] = ..., draining: bool = ..., last_fencing_token: _Optional[int] = ..., holders: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., waiters: _Optional[_Iterable[_Union[Claim, _Mapping]]] = ..., record: _Optional[_Union[LockRecord, _Mapping]] = ..., rate: _Optional[_Union[RateInForce, _Mapping]] = ..., pools: _Optional[_Iterable[_Union[PoolInForce, _Mapping]]] = ..., queue_rules: _Optional[_Union[QueueRulesInForce, _Mapping]] = ...) -> None: ...
