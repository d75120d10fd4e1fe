"""Converts the fields of a command to the options of the client."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from rowlock import FOREVER, Backoff, QueueRules, Rate, WantedLock

Command = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

# The field of a command, and the option of the client.
_LEASE = {
    "requestId": "request_id",
    "owner": "owner",
    "labels": "labels",
    "statusIfLost": "status_if_lost",
    "ifStatus": "if_status",
}
_LEASE_TIMES = {
    "waitMs": "wait",
    "ttlMs": "ttl",
    "marginMs": "margin",
    "minIntervalMs": "min_interval",
    "lockDelayMs": "lock_delay",
}


def lock_options(command: Command) -> dict[str, Any]:
    also = command.get("also")
    return {
        **_backoff(command),
        **({} if also is None else {"also": [_further_lock(each) for each in also]}),
        **_named(command, {**_LEASE, "permits": "permits", "mode": "mode"}),
        **_times(
            command, {**_LEASE_TIMES, "positionIntervalMs": "position_interval", "headStartMs": "head_start"}
        ),
    }


def _backoff(command: Command) -> dict[str, Any]:
    asked = command.get("backoff")
    if asked is None:
        return {}
    times = _times(asked, {"firstMs": "first", "maxMs": "max"})
    return {"backoff": Backoff(times["first"], times.get("max"))}


def _further_lock(lock: dict[str, Any]) -> str | WantedLock:
    fields = _named(lock, {"mode": "mode", "permits": "permits"})
    return WantedLock(lock["name"], **fields) if fields else str(lock["name"])


def spend_options(command: Command) -> dict[str, Any]:
    """Pass on what only a lease can have, too: the client must refuse it."""
    return lock_options(command)


def rate_of(rate: dict[str, Any]) -> Rate:
    return Rate(rate["permits"], rate["perMs"] / 1_000, rate.get("burst"))


def queue_rules_of(rules: dict[str, Any]) -> QueueRules:
    return QueueRules(
        rules.get("waitingMax"),
        rules.get("whenFull", "refuse"),
        rules.get("shareBy"),
        **_times(rules, {"headStartMaxMs": "head_start_max"}),
    )


def capture_options(command: Command) -> dict[str, Any]:
    return {
        **_backoff(command),
        **_named(command, {**_LEASE, "prefix": "prefix", "names": "names", "count": "count"}),
        **_times(command, _LEASE_TIMES),
    }


def work_options(command: Command) -> dict[str, Any]:
    return {
        **_named(
            command,
            {
                "concurrency": "concurrency",
                "ifStatus": "if_status",
                "statusWhenDone": "status_when_done",
                "statusIfLost": "status_if_lost",
            },
        ),
        **_times(command, {"ttlMs": "ttl"}),
        **_backoff(command),
    }


def release_options(command: Command) -> dict[str, Any]:
    return {
        **_named(command, {"status": "status", "attemptsLeft": "attempts_left", "failed": "failed"}),
        **_times(command, {"coolDownMs": "cool_down"}),
    }


def changes_of(command: Command) -> dict[str, Any]:
    changes = {
        **_named(command, {"status": "status", "attemptsLeft": "attempts_left"}),
        **_times(command, {"notBeforeInMs": "not_before_in"}),
    }
    if changes.get("attempts_left") == "unlimited":
        changes["attempts_left"] = None
    not_before = command.get("notBeforeMs")
    if not_before is not None:
        changes["not_before"] = None if not_before == "none" else _EPOCH + timedelta(milliseconds=not_before)
    return changes


def _named(command: Command, options: dict[str, str]) -> dict[str, Any]:
    return {option: command[name] for name, option in options.items() if command.get(name) is not None}


def _times(command: Command, options: dict[str, str]) -> dict[str, float]:
    """Return options in seconds from the command's fields in milliseconds."""
    asked = _named(command, options)
    return {option: FOREVER if value == "forever" else value / 1_000 for option, value in asked.items()}
