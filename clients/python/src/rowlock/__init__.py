"""Client of Rowlock, the lock server: locks, semaphores and readers-writer locks that the client renews.

    import rowlock

    with rowlock.connect("127.0.0.1:50051") as client, client.lock("etl/load") as lock:
        print(f"alone, with fencing token {lock.token}")

`rowlock.aio` is the client for asyncio, with the same names. All times are seconds.
"""

from rowlock.bridge import Lost
from rowlock.cancellation import Cancellation
from rowlock.captured import Captured
from rowlock.client import Client, connect
from rowlock.engine.held_lease import LockState
from rowlock.engine.verbs import ListOrder
from rowlock.errors import LockLost, LockRefused, LockTimeout, RowlockError, Violation
from rowlock.history import (
    ChangeKind,
    ChangeView,
    Exhausted,
    FailedOver,
    HeldByOthers,
    LimitInTheWay,
    ListChangesOptions,
    ListClaimsOptions,
    NotBefore,
    QueuedBehind,
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
    TlsOptions,
    TryOptions,
    WaitOptions,
)
from rowlock.reason import Reason
from rowlock.records import LastRunView, LockChanges, RecordOptions, RecordView, ReleaseOptions
from rowlock.refusal import Refusal
from rowlock.times import FOREVER
from rowlock.token_source import TokenFile
from rowlock.views import (
    ClaimState,
    ClaimView,
    ForceReleased,
    HandedOver,
    LimitInForce,
    LimitSetting,
    LimitView,
    LockView,
    RenewedLease,
)

__version__ = "0.1.0"

__all__ = [
    "FOREVER",
    "Cancellation",
    "CaptureOptions",
    "Captured",
    "ChangeKind",
    "ChangeView",
    "ClaimState",
    "ClaimView",
    "Client",
    "ConnectionEvent",
    "Exhausted",
    "FailedOver",
    "ForceReleased",
    "HandedOver",
    "HeldByOthers",
    "LastRunView",
    "LimitInForce",
    "LimitInTheWay",
    "LimitSetting",
    "LimitView",
    "ListChangesOptions",
    "ListClaimsOptions",
    "ListOrder",
    "Lock",
    "LockChanges",
    "LockLost",
    "LockOptions",
    "LockRefused",
    "LockState",
    "LockTimeout",
    "LockView",
    "Lost",
    "Mode",
    "NotBefore",
    "Place",
    "QueuedBehind",
    "Reason",
    "RecordOptions",
    "RecordView",
    "Refusal",
    "ReleaseOptions",
    "RenewedLease",
    "RowlockError",
    "RowsHeld",
    "TlsOptions",
    "TokenFile",
    "TryOptions",
    "UnwantedStatus",
    "Violation",
    "WaitCause",
    "WaitEstimate",
    "WaitExplanation",
    "WaitOptions",
    "connect",
]
