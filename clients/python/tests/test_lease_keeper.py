"""When a lease is renewed again."""

from __future__ import annotations

from typing import Any

import pytest
from test_calls import Way, calls_over
from test_held_lease import lease_of

from rowlock import RowlockError
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.lease_keeper import LeaseKeeper


@pytest.mark.parametrize(("reason", "pause"), [("INTERNAL", 0.15), ("RIGHT_MISSING", 1.0)])
def test_a_renewal_that_the_policy_denies_is_repeated_slowly(reason: str, pause: float) -> None:
    way: Any = Way(via="session")
    keeper = LeaseKeeper(calls_over(way), way, lambda: 100.0, late=lambda _: None)
    held = HeldLease(lease_of(30.0), 100.0, 2.0, lambda: 100.0)
    keeper._failed(held, RowlockError(reason, "INTERNAL", "No."))
    assert held.renew_at == pytest.approx(100.0 + pause)
