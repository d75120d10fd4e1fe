"""Options are checked before any server is asked: all faults at once, in the words of the caller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import rowlock
import rowlock.aio
from rowlock import FOREVER, OptionError, Rate
from rowlock.options import asked_of, capture_asked_of, spend_asked_of
from rowlock.records import last_words_of, update_of
from rowlock.times import timestamp_of

_NOON = datetime(2030, 1, 1, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"timeout": 1}, 'unknown option "timeout"; did you mean "wait"?'),
        ({"wiat": 0}, 'unknown option "wiat"; did you mean "wait"?'),
        ({"lease_time": 9}, 'unknown option "lease_time"; did you mean "ttl"?'),
        ({"colour": "red"}, 'unknown option "colour"'),
        ({"wait": "30s"}, 'wait: "30s" must be a number of seconds or a timedelta'),
        ({"wait": -1}, "wait: -1 must not be negative"),
        ({"wait": True}, "wait: True must be a number of seconds or a timedelta"),
        ({"wait": float("nan")}, "wait: nan must be a number of seconds or a timedelta"),
        ({"permits": 0}, "permits: 0 must be a whole number from 1 on"),
        ({"permits": 1.5}, "permits: 1.5 must be a whole number from 1 on"),
        ({"mode": "write"}, 'mode: "write" must be one of permit, shared, exclusive'),
        ({"labels": {"a": 1}}, "labels: {'a': 1} must be a str"),
        ({"owner": "\ud800"}, "has characters that are not valid Unicode"),
        ({"owner": "caf\udce9"}, "owner: 'caf\\udce9' has characters that are not valid Unicode"),
        ({"owner": "caf\ufffd"}, "U+FFFD, which stands for bytes that were no text"),
        ({"request_id": "caf\ufffd"}, "U+FFFD"),
        ({"labels": {"caf\ufffd": "x"}}, "U+FFFD"),
        ({"labels": {"x": "caf\udce9"}}, "not valid Unicode"),
        ({"if_status": ["x", "caf\ufffd"]}, "U+FFFD"),
        ({"status_if_lost": "caf\ufffd"}, "U+FFFD"),
        ({"if_status": [1]}, "if_status: [1] must be a str"),
        ({"ttl": 2.0, "margin": 1.0}, "margin: 1 s must be less than half of the ttl of 2 s"),
        ({"cancel": 3}, "cancel: 3 must be a rowlock.Cancellation"),
        ({"on_position": 3}, "on_position: 3 must be a function"),
        ({"head_start": "5m"}, 'head_start: "5m" must be a number of seconds or a timedelta'),
        ({"head_start": FOREVER}, "head_start: inf must be a number of seconds or a timedelta"),
    ],
)
def test_a_fault_is_named(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(OptionError) as refused:
        asked_of("job", **options)
    (found,) = refused.value.faults
    assert fault in found


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(OptionError) as refused:
        asked_of("job", wiat=3, mode="write", permits=0)
    assert str(refused.value) == (
        'unknown option "wiat"; did you mean "wait"?; mode: "write" must be one of permit, shared, exclusive; '
        "permits: 0 must be a whole number from 1 on"
    )
    with pytest.raises(OptionError) as unmade:
        rowlock.connect(["localhost", "http://locks:50051"], give_up_after=0, owner=3)  # type: ignore[arg-type]
    assert unmade.value.faults == (
        "owner: 3 must be a str",
        "give_up_after: 0 must be above 0",
        'addresses: "localhost" must be host:port, as in "localhost:50051"',
        'addresses: "http://locks:50051" must be host:port, as in "localhost:50051"',
    )


def test_a_backoff_that_cannot_work_is_refused() -> None:
    with pytest.raises(OptionError) as unmade:
        rowlock.Backoff(None, "long")  # type: ignore[arg-type]
    assert unmade.value.faults == ("first: set it", 'max: "long" must be a number of seconds or a timedelta')
    with pytest.raises(OptionError) as refused:
        asked_of("job", backoff=3, permits=0)
    assert refused.value.faults == (
        "backoff: 3 must be a rowlock.Backoff",
        "permits: 0 must be a whole number from 1 on",
    )
    terms = asked_of("job", backoff=rowlock.Backoff(timedelta(minutes=1))).request.terms
    assert terms.backoff.first.seconds == 60
    assert not terms.backoff.HasField("max")


@pytest.mark.parametrize(
    "refuse",
    [
        lambda: capture_asked_of(prefix="", names=["job"], colour="red"),
        lambda: capture_asked_of(prefix="job/", names=[], colour="red"),
        lambda: update_of("job", None, not_before=_NOON, not_before_in=0, colour="red"),
        # None removes the bound, which contradicts a new one, too.
        lambda: update_of("job", None, not_before=None, not_before_in=1, colour="red"),
    ],
)
def test_options_that_contradict_each_other_are_refused_with_all_other_faults(
    refuse: Callable[[], object],
) -> None:
    with pytest.raises(OptionError) as refused:
        refuse()
    unknown, both = refused.value.faults
    assert unknown == 'unknown option "colour"'
    assert both in (
        "prefix and names: set one of them",
        "not_before and not_before_in: set one of them",
    )


def test_an_option_of_none_contradicts_nothing() -> None:
    asked = capture_asked_of(prefix=None, names=["job"]).request
    assert asked.WhichOneof("from") == "names"
    assert list(asked.names.names) == ["job"]
    assert capture_asked_of(prefix="", names=None).request.WhichOneof("from") == "prefix"
    update = update_of("job", None, not_before=_NOON, not_before_in=None)
    assert update.WhichOneof("new_not_before") == "not_before"


def test_a_bound_of_none_is_removed_and_one_not_given_stays() -> None:
    removed = update_of("job", None, not_before=None, attempts_left=None)
    assert removed.WhichOneof("new_not_before") == "unset_not_before"
    assert removed.WhichOneof("new_attempts_left") == "unset_attempts_left"
    stays = update_of("job", None, status="new")
    assert stays.WhichOneof("new_not_before") is None
    assert stays.WhichOneof("new_attempts_left") is None


def test_a_name_that_is_no_text_is_refused_by_each_call(client: rowlock.Client) -> None:
    bad = "caf\udce9"
    calls: list[Callable[[], object]] = [
        lambda: client.lock(bad),
        lambda: client.get_lock(bad),
        lambda: client.update_record(bad, status="x"),
        lambda: client.delete_record(bad),
        lambda: client.update_record("x", status="x", reason=bad),
        lambda: client.delete_record("x", reason=bad),
        lambda: client.set_limit(1, name=bad),
        lambda: client.set_limit(1, pattern=bad),
        lambda: client.set_limit(1, name="x", reason=bad),
        lambda: client.capture(names=[bad]),
        lambda: client.force_release("x", bad),
        lambda: client.release(bad),
        lambda: client.renew(bad),
        lambda: list(client.list_locks(bad)),
        lambda: next(iter(client.watch(bad))),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"not valid Unicode|surrogates not allowed"):
            call()


def test_a_time_that_no_clock_shows_is_refused() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    with pytest.raises(ValueError, match="there is no such time"):
        timestamp_of(datetime(2026, 3, 29, 2, 30, tzinfo=berlin))
    # The hour that is shown twice: fold says which one is meant.
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=fold) for fold in (0, 1))
    assert timestamp_of(second).seconds - timestamp_of(first).seconds == 3_600


def test_durations_are_seconds_or_timedeltas() -> None:
    asked = asked_of(
        "job", wait=timedelta(minutes=2), ttl=timedelta(seconds=5), min_interval=timedelta(hours=1)
    )
    assert (asked.wait, asked.request.terms.ttl.seconds, asked.terms.min_interval) == (120.0, 5, 3_600.0)
    assert asked_of("job", head_start=timedelta(minutes=1)).request.head_start.seconds == 60
    assert not asked_of("job", head_start=0).request.HasField("head_start")
    assert asked_of("job").wait == FOREVER
    assert asked_of("job", wait=None).wait == FOREVER
    assert capture_asked_of(prefix="", wait=timedelta(seconds=1)).wait == 1.0
    assert last_words_of("lease", cool_down=timedelta(minutes=1)).cool_down.seconds == 60
    assert update_of("job", None, not_before_in=timedelta(minutes=1)).not_before_in.seconds == 60
    rowlock.connect("localhost:1", give_up_after=timedelta(seconds=1), connect_timeout=timedelta(seconds=1))


@pytest.mark.parametrize(
    "refuse",
    [
        lambda client: client.try_lock("job", wait=1),
        lambda client: client.try_lock("job", head_start=1),
        lambda client: client.try_spend("job", head_start=1),
        lambda client: client.lock(7),
        lambda client: client.capture(prefix="", limit=3),
        lambda client: client.release("lease", ttl=3),
        lambda client: client.capture(prefix="", names=["job"]),
        lambda client: client.update_record("job", not_before="today"),
        lambda client: client.update_record("job", not_before=_NOON, not_before_in=1),
        lambda client: client.renew("lease", FOREVER),
        lambda client: client.work("", print, concurrency=0),
        lambda client: next(client.watch(7)),
    ],
)
def test_each_verb_checks_its_options(client: rowlock.Client, refuse: Callable[[Any], object]) -> None:
    with pytest.raises(OptionError):
        refuse(client)


def test_a_rate_has_its_faults_at_once_and_equals_itself_however_it_is_written() -> None:
    assert Rate(500, timedelta(minutes=1)) == Rate(500, 60, 500)
    assert Rate(500, 60).burst == 500
    with pytest.raises(OptionError) as refused:
        Rate(0, "1m", 1.5)  # type: ignore[arg-type]
    assert len(refused.value.faults) == 3
    with pytest.raises(OptionError, match="per: set it"):
        Rate(1, None)  # type: ignore[arg-type]


def test_a_request_that_only_spends_takes_no_options_of_a_lease() -> None:
    with pytest.raises(OptionError, match='unknown option "ttl"'):
        spend_asked_of("api", ttl=9)
    with pytest.raises(OptionError, match='unknown option "wait"'):
        spend_asked_of("api", is_try=True, wait=0)
    assert spend_asked_of("api", head_start=9).request.head_start.seconds == 9
    asked = spend_asked_of("api", permits=3, owner="anna", labels={"a": "b"}, if_status="ok", wait=9.0)
    request = asked.request
    assert (request.name, request.permits, request.spend_only, asked.wait) == ("api", 3, True, 9.0)
    assert (request.terms.owner, dict(request.terms.labels)) == ("anna", {"a": "b"})
    assert list(request.terms.if_status) == ["ok"]
    assert request.terms.WhichOneof("lasting") is None
