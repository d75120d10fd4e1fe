"""Client of Rowlock, the lock server: locks, semaphores and readers-writer locks that the client renews.

    import rowlock

    with rowlock.connect("127.0.0.1:50051") as client, client.lock("etl/load") as lock:
        print(f"my turn, with fencing token {lock.token}")

`rowlock.aio` is the client for asyncio, with the same names. All times are seconds, or timedeltas.
"""

import os

# Without it, gRPC writes lines of its C library to the standard error. This package says what is wrong in its errors and
# its log. The environment decides if it has a value.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

from rowlock.bridge import Lost
from rowlock.cancellation import Cancellation
from rowlock.captured import Captured
from rowlock.changes import (
    ChangeKind,
    ChangeView,
    ForcedRelease,
    LimitChange,
    PolicyChange,
    RecordChange,
    WhatChanged,
)
from rowlock.checks import OptionError
from rowlock.client import Client, connect
from rowlock.diagnosis import Diagnosis, DiagnosisKind
from rowlock.engine.held_lease import LockState
from rowlock.engine.verbs import ListOrder
from rowlock.errors import LockLost, LockRefused, LockTimeout, RowlockError, Violation
from rowlock.further_locks import ClaimedLock, WantedLock
from rowlock.history import (
    Exhausted,
    FailedOver,
    HeldByOthers,
    LimitInTheWay,
    ListChangesOptions,
    ListClaimsOptions,
    NotBefore,
    PoolInTheWay,
    QueuedBehind,
    RateInTheWay,
    RowsHeld,
    UnwantedStatus,
    WaitCause,
    WaitEstimate,
    WaitExplanation,
)
from rowlock.lock import Lock
from rowlock.mode import Mode
from rowlock.options import (
    CaptureOptions,
    ConnectionEvent,
    LockOptions,
    Place,
    SpendOptions,
    TlsOptions,
    TryOptions,
    TrySpendOptions,
    WaitOptions,
)
from rowlock.queue_rules import QueueRules, QueueRulesView
from rowlock.rates import Rate, RateView, Spent
from rowlock.reason import Reason
from rowlock.records import Backoff, LastRunView, RecordChanges, RecordOptions, RecordView, ReleaseOptions
from rowlock.refusal import Refusal
from rowlock.signals import release_on_signal
from rowlock.times import FOREVER, Seconds
from rowlock.token_source import TokenFile
from rowlock.views import (
    ClaimEndView,
    ClaimState,
    ClaimView,
    ForceReleased,
    HandedOver,
    LimitInForce,
    LimitSetting,
    LimitView,
    LockView,
    PoolUse,
    PoolView,
    RenewedLease,
)
from rowlock.waiting import Waiting
from rowlock.watch import WatchUpdate
from rowlock.work_options import WorkOptions

__version__ = "0.1.0"

__all__ = [
    "FOREVER",
    "Backoff",
    "Cancellation",
    "CaptureOptions",
    "Captured",
    "ChangeKind",
    "ChangeView",
    "ClaimEndView",
    "ClaimState",
    "ClaimView",
    "ClaimedLock",
    "Client",
    "ConnectionEvent",
    "Diagnosis",
    "DiagnosisKind",
    "Exhausted",
    "FailedOver",
    "ForceReleased",
    "ForcedRelease",
    "HandedOver",
    "HeldByOthers",
    "LastRunView",
    "LimitChange",
    "LimitInForce",
    "LimitInTheWay",
    "LimitSetting",
    "LimitView",
    "ListChangesOptions",
    "ListClaimsOptions",
    "ListOrder",
    "Lock",
    "LockLost",
    "LockOptions",
    "LockRefused",
    "LockState",
    "LockTimeout",
    "LockView",
    "Lost",
    "Mode",
    "NotBefore",
    "OptionError",
    "Place",
    "PolicyChange",
    "PoolInTheWay",
    "PoolUse",
    "PoolView",
    "QueueRules",
    "QueueRulesView",
    "QueuedBehind",
    "Rate",
    "RateInTheWay",
    "RateView",
    "Reason",
    "RecordChange",
    "RecordChanges",
    "RecordOptions",
    "RecordView",
    "Refusal",
    "ReleaseOptions",
    "RenewedLease",
    "RowlockError",
    "RowsHeld",
    "Seconds",
    "SpendOptions",
    "Spent",
    "TlsOptions",
    "TokenFile",
    "TryOptions",
    "TrySpendOptions",
    "UnwantedStatus",
    "Violation",
    "WaitCause",
    "WaitEstimate",
    "WaitExplanation",
    "WaitOptions",
    "Waiting",
    "WantedLock",
    "WatchUpdate",
    "WhatChanged",
    "WorkOptions",
    "connect",
    "release_on_signal",
]
