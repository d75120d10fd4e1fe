"""Changes as the history shows them, made from messages: those that no server of the tests sends."""

from __future__ import annotations

from typing import Any

import pytest

from rowlock import LimitChange, PolicyChange, Rate, RecordChange, WhatChanged
from rowlock.changes import change_view
from rowlock.v1 import lock_pb2


@pytest.mark.parametrize(
    ("message", "kind", "what"),
    [
        ({"limit": {"from": 0, "to": 4}}, "limit", LimitChange(0, 4)),
        ({"limit": {"from": 4}}, "limit", LimitChange(4, None)),
        ({"limit": {}}, "limit", LimitChange(None, None)),
        (
            {"limit": {"from": 4, "to": 4, "rate_to": {"permits": 5, "per": {"seconds": 2}, "burst": 9}}},
            "limit",
            LimitChange(4, 4, None, Rate(5, 2.0, 9)),
        ),
        ({"record": {}}, "record", RecordChange(None, None)),
        ({"policy": {"from": "1f", "to": "2e"}}, "policy", PolicyChange("1f", "2e")),
        ({"policy": {"to": "2e"}}, "policy", PolicyChange("", "2e")),
    ],
)
def test_shows_what_was_changed(message: dict[str, Any], kind: str, what: WhatChanged) -> None:
    change = change_view(lock_pb2.Change(**message))
    assert (change.kind, change.what) == (kind, what)


def test_a_kind_that_only_a_newer_server_knows_is_unknown() -> None:
    # Field 99, an empty message.
    message = lock_pb2.Change.FromString(b"\x9a\x06\x00")
    message.lock_name = "etl"
    message.reason = "night"
    change = change_view(message)
    assert (change.kind, change.what) == ("unknown", None)
    assert (change.name, change.pattern, change.reason) == ("etl", None, "night")
