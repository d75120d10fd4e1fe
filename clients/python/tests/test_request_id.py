"""The ids that the client makes: their form, their time and their order."""

from __future__ import annotations

import time
import uuid

import pytest

from rowlock.engine.request_id import new_request_id

MS = 1_645_557_742_000


def at(monkeypatch: pytest.MonkeyPatch, unix_ms: int) -> str:
    """Return an id that is made at that time."""
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: unix_ms * 1_000_000 + 999_999)
        return new_request_id()


def test_ids_are_random_uuids_of_version_7(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {at(monkeypatch, MS) for _ in range(100)}
    assert len(ids) == 100
    for text in ids:
        made = uuid.UUID(text)
        assert (str(made), made.version, made.variant) == (text, 7, uuid.RFC_4122)
        assert text.startswith("017f22e2-79b0-7")


def test_ids_have_the_time_now() -> None:
    before = time.time_ns() // 1_000_000
    made = uuid.UUID(new_request_id()).int >> 80
    assert before <= made <= time.time_ns() // 1_000_000


def test_ids_sort_by_the_time_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [at(monkeypatch, ms) for ms in (0, 1, 0xFFFF, 0x10000, MS, MS + 1, (1 << 48) - 1)]
    assert ids == sorted(ids)
