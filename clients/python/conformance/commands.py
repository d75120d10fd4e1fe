"""The driver's commands: each is one call of the public API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from answers import (
    AnyLock,
    captured_json,
    lock_json,
    ms,
    outcome_json,
    place_json,
    queue_rules_json,
    rate_json,
    record_json,
    tokens_json,
    update_json,
    use_json,
    waiting_json,
)
from asked import (
    Command,
    capture_options,
    changes_of,
    lock_options,
    queue_rules_of,
    rate_of,
    release_options,
    spend_options,
    work_options,
)
from fenced_store import connect_to, fenced_write, guarded_write
from history_answers import change_json, explanation_json, past_claim_json
from side import Asking, Running, Scope, Side, Workshop

from rowlock import (
    LimitInForce,
    LimitSetting,
    LockRefused,
    LockView,
    TlsOptions,
    TokenFile,
    WatchUpdate,
    testing,
)

Answer = Callable[[dict[str, Any]], None]


class Commands:
    """Holds clients and locks by the names that the runner gives them, and runs commands on them."""

    def __init__(self, side: Side, tell: Callable[[dict[str, Any]], None]) -> None:
        self._side = side
        self._tell = tell
        self._clients: dict[str, Any] = {}
        # What the token functions of the clients return.
        self._tokens: dict[str, str] = {}
        self._locks: dict[str, AnyLock] = {}
        self._asking: dict[str, Asking | Scope] = {}
        self._scopes: dict[str, Scope] = {}
        self._reentrant: set[str] = set()
        self._watches: dict[str, Running] = {}
        self._workers: dict[str, Workshop] = {}
        self._servers: dict[str, testing.EphemeralServer] = {}

    async def run(self, command: Command, answer: Answer) -> None:
        """Run a command: answer once, or raise."""
        runs: dict[str, Callable[[Command], Awaitable[dict[str, Any]]]] = {
            "connect": self._connect,
            "setToken": self._set_token,
            "spend": self._spend,
            "giveUp": self._give_up,
            "leave": self._leave,
            "state": self._state,
            "release": self._release,
            "handOver": self._hand_over,
            "renewLease": self._renew_lease,
            "releaseLease": self._release_lease,
            "updateRecord": self._update_record,
            "deleteRecord": self._delete_record,
            "setLimit": self._set_limit,
            "setRate": self._set_rate,
            "unsetRate": self._set_rate,
            "setQueueRules": self._set_queue_rules,
            "unsetQueueRules": self._set_queue_rules,
            "getLock": self._get_lock,
            "listLocks": self._list_locks,
            "listLimits": self._list_limits,
            "listClaims": self._list_claims,
            "listChanges": self._list_changes,
            "explainWait": self._explain_wait,
            "forceRelease": self._force_release,
            "watch": self._watch,
            "unwatch": self._unwatch,
            "work": self._work,
            "finish": self._finish,
            "stopWorking": self._stop_working,
            "startTestServer": self._start_test_server,
            "loseAtTestServer": self._lose_at_test_server,
            "stopTestServer": self._stop_test_server,
            "fencedWrite": self._fenced_write,
            "guardedWrite": self._guarded_write,
            "block": self._block,
            "close": self._close,
        }
        if command["do"] == "acquire":
            await self._acquire(command, answer)
        elif command["do"] == "capture":
            await self._capture(command, answer)
        else:
            answer(await runs[command["do"]](command))

    async def close(self) -> None:
        """Close all clients."""
        await asyncio.gather(*(self._side.call(client.close) for client in self._clients.values()))
        for server in self._servers.values():
            server.stop()

    async def _connect(self, command: Command) -> dict[str, Any]:
        options: dict[str, Any] = {
            name: command[name] for name in ("owner", "labels", "headers") if command.get(name) is not None
        }
        for name, option in (
            ("giveUpAfterMs", "give_up_after"),
            ("connectTimeoutMs", "connect_timeout"),
            ("explainAfterMs", "explain_after"),
        ):
            if command.get(name) is not None:
                options[option] = command[name] / 1_000
        tls = command.get("tls")
        if tls is not None:
            options["tls"] = TlsOptions(
                ca=tls.get("caFile"),
                cert=tls.get("certFile"),
                key=tls.get("keyFile"),
                server_name=tls.get("serverName"),
            )
        options.update(self._token_options(command))
        self._clients[command["client"]] = self._side.connect(command["addresses"], **options)
        return {}

    def _token_options(self, command: Command) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if command.get("allowTokenInPlaintext"):
            options["allow_token_in_plaintext"] = True
        if command.get("token") is not None:
            options["token"] = command["token"]
        elif command.get("tokenFile") is not None:
            options["token"] = TokenFile(command["tokenFile"])
        elif command.get("tokenFunction") is not None:
            client = command["client"]
            self._tokens[client] = command["tokenFunction"]
            options["token"] = lambda: self._tokens[client]
        return options

    async def _set_token(self, command: Command) -> dict[str, Any]:
        self._tokens[command["client"]] = command["token"]
        return {}

    async def _acquire(self, command: Command, answer: Answer) -> None:
        handle, client = command["lock"], self._clients[command["client"]]
        options = {**lock_options(command), **self._told_of(command)}
        if command.get("reentrant"):
            self._reentrant.add(handle)
            options["reentrant"] = True
        if command.get("scope"):
            await self._enter(client, command, options, answer)
            return
        # All calls for reentrant locks come from one thread or task.
        ask = self._side.ask_in_line if handle in self._reentrant else self._side.ask
        asking = self._asking[handle] = ask(client, command["name"], options)
        outcome = await asking.outcome
        answer(outcome_json(outcome))
        if hasattr(outcome, "release"):
            self._held(handle, outcome)

    async def _spend(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        options = {**spend_options(command), **self._told_of(command)}
        asking = self._asking[command["lock"]] = self._side.spend(client, command["name"], options)
        try:
            spent = await asking.outcome
        except LockRefused as error:
            # The error of this client is an answer of the verb.
            return outcome_json(error.refusal)
        return {"spent": {"token": str(spent.token), "permits": spent.permits, "requestId": spent.request_id}}

    def _told_of(self, command: Command) -> dict[str, Any]:
        """Return the callbacks of a wait."""
        handle = command["lock"]
        told: dict[str, Any] = {
            "on_waiting": lambda waiting: self._tell(
                {"event": "waiting", "lock": handle, **waiting_json(waiting)}
            )
        }
        if command.get("positions"):
            told["on_position"] = lambda place: self._tell(
                {"event": "position", "lock": handle, **place_json(place)}
            )
        return told

    async def _capture(self, command: Command, answer: Answer) -> None:
        handle, client = command["lock"], self._clients[command["client"]]
        asking = self._asking[handle] = self._side.capture(client, capture_options(command))
        captured = await asking.outcome
        handles = [f"{handle}{index}" for index in range(len(captured))]
        answer(captured_json(handles, captured))
        for each, lock in zip(handles, captured.locks, strict=True):
            self._held(each, lock)

    async def _enter(self, client: Any, command: Command, options: dict[str, Any], answer: Answer) -> None:
        handle = command["lock"]
        scope = self._asking[handle] = self._side.enter(client, command["name"], options)
        await asyncio.wait((scope.lock, scope.end), return_when=asyncio.FIRST_COMPLETED)
        if not scope.lock.done():
            await scope.end
        self._scopes[handle] = scope
        answer(outcome_json(scope.lock.result()))
        self._held(handle, scope.lock.result())

    def _held(self, handle: str, lock: AnyLock) -> None:
        self._locks[handle] = lock
        lock.on_state(
            lambda state: self._tell(
                {"event": "state", "lock": handle, "state": state, "atMs": time.monotonic() * 1_000}
            )
        )

    async def _give_up(self, command: Command) -> dict[str, Any]:
        self._asking[command["lock"]].give_up()
        return {}

    async def _leave(self, command: Command) -> dict[str, Any]:
        scope = self._scopes[command["lock"]]
        scope.leave()
        await scope.end
        return {"released": True}

    async def _state(self, command: Command) -> dict[str, Any]:
        lock = self._locks[command["lock"]]
        return {"state": lock.state, "remainingMs": ms(lock.remaining)}

    async def _release(self, command: Command) -> dict[str, Any]:
        lock = self._locks[command["lock"]]
        call = self._side.call_in_line if command["lock"] in self._reentrant else self._side.call
        return {"released": await call(lock.release, **release_options(command))}

    async def _hand_over(self, command: Command) -> dict[str, Any]:
        over = await self._side.call(self._locks[command["lock"]].hand_over, **_ttl_of(command))
        return {"leaseId": over.lease_id, "token": str(over.token), "tokens": tokens_json(over.tokens)}

    async def _renew_lease(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        lease = await self._side.call(client.renew, command["leaseId"], **_ttl_of(command))
        tokens = {"token": str(lease.token), "tokens": tokens_json(lease.tokens)}
        return {"name": lease.name, **tokens, "ttlMs": ms(lease.ttl)}

    async def _release_lease(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        released = await self._side.call(client.release, command["leaseId"], **release_options(command))
        return {"released": released}

    async def _update_record(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        options = {**changes_of(command), **_if_version_of(command), **_reason_of(command)}
        return record_json(await self._side.call(client.update_record, command["name"], **options))

    async def _delete_record(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        options = {**_if_version_of(command), **_reason_of(command)}
        return {"deleted": await self._side.call(client.delete_record, command["name"], **options)}

    async def _set_limit(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        set_limit = self._side.call(client.set_limit, command.get("limit"), **_setting_of(command))
        return _in_force_json(await set_limit)

    async def _set_rate(self, command: Command) -> dict[str, Any]:
        """Set a rate, or without one in the command unset it."""
        rate = command.get("rate")
        client = self._clients[command["client"]]
        set_rate = self._side.call(client.set_rate, rate and rate_of(rate), **_setting_of(command))
        return _in_force_json(await set_rate)

    async def _set_queue_rules(self, command: Command) -> dict[str, Any]:
        """Set queue rules, or without them in the command unset them."""
        rules = command.get("queueRules")
        client = self._clients[command["client"]]
        # A pool has none, so the client has no such argument.
        target = {key: value for key, value in _setting_of(command).items() if key != "pool"}
        set_rules = self._side.call(client.set_queue_rules, rules and queue_rules_of(rules), **target)
        return _in_force_json(await set_rules)

    async def _get_lock(self, command: Command) -> dict[str, Any]:
        return lock_json(await self._side.call(self._clients[command["client"]].get_lock, command["name"]))

    async def _list_locks(self, command: Command) -> dict[str, Any]:
        options = {
            "busy_only": bool(command.get("busyOnly")),
            "status": command.get("statuses") or (),
            "exhausted_only": bool(command.get("exhaustedOnly")),
        }
        if command.get("order") is not None:
            options["order"] = command["order"]
        client = self._clients[command["client"]]
        locks: list[LockView] = await self._side.collect(
            client.list_locks, command.get("prefix") or "", **options
        )
        return {"names": [lock.name for lock in locks]}

    async def _list_limits(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        limits = await self._side.collect(client.list_limits, command.get("prefix") or "")
        return {"limits": [_limit_json(each) for each in limits]}

    async def _list_claims(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        options = {key: command[key] for key in ("name", "prefix", "owner") if command.get(key) is not None}
        claims = await self._side.collect(client.list_claims, **options)
        return {"claims": [past_claim_json(each) for each in claims]}

    async def _list_changes(self, command: Command) -> dict[str, Any]:
        client = self._clients[command["client"]]
        options = {key: command[key] for key in ("name", "prefix") if command.get(key) is not None}
        changes = await self._side.collect(client.list_changes, **options)
        return {"changes": [change_json(each) for each in changes]}

    async def _explain_wait(self, command: Command) -> dict[str, Any]:
        number = command.get("ticketNumber")
        explained = await self._side.call(
            self._clients[command["client"]].explain_wait,
            command["name"],
            ticket_number=None if number is None else int(number),
        )
        return explanation_json(explained)

    async def _force_release(self, command: Command) -> dict[str, Any]:
        number = command.get("ticketNumber")
        released = await self._side.call(
            self._clients[command["client"]].force_release,
            command["name"],
            command.get("reason") or "",
            ticket_number=None if number is None else int(number),
        )
        return {"ended": len(released.ended), "remaining": released.remaining}

    async def _watch(self, command: Command) -> dict[str, Any]:
        handle = command["watch"]

        def told(update: WatchUpdate) -> None:
            self._tell({"event": "watched", "watch": handle, **update_json(update)})

        client = self._clients[command["client"]]
        watch = self._watches[handle] = self._side.watch(client, command["prefix"], told)
        watch.end.add_done_callback(lambda end: self._watch_ended(handle, end))
        return {}

    def _watch_ended(self, handle: str, end: asyncio.Future[None]) -> None:
        error = None if end.cancelled() else end.exception()
        if error is not None:
            self._tell({"event": "watch failed", "watch": handle, "error": str(error)})

    async def _unwatch(self, command: Command) -> dict[str, Any]:
        watch = self._watches.pop(command["watch"])
        watch.stop()
        await watch.end
        return {}

    async def _work(self, command: Command) -> dict[str, Any]:
        worker = command["worker"]

        def began(lock: AnyLock) -> None:
            self._tell({"event": "working", "worker": worker, "name": lock.name, "token": str(lock.token)})

        client = self._clients[command["client"]]
        self._workers[worker] = self._side.work(client, command["prefix"], began, work_options(command))
        return {}

    async def _finish(self, command: Command) -> dict[str, Any]:
        self._workers[command["worker"]].finish(command["name"], bool(command.get("fails")))
        return {}

    async def _stop_working(self, command: Command) -> dict[str, Any]:
        worker = self._workers[command["worker"]]
        worker.stop()
        await worker.end
        return {}

    async def _start_test_server(self, command: Command) -> dict[str, Any]:
        server = await asyncio.to_thread(testing.serve)
        self._servers[command["server"]] = server
        return {"address": server.address}

    async def _lose_at_test_server(self, command: Command) -> dict[str, Any]:
        await asyncio.to_thread(self._servers[command["server"]].lose, command["name"])
        return {}

    async def _stop_test_server(self, command: Command) -> dict[str, Any]:
        await asyncio.to_thread(self._servers.pop(command["server"]).stop)
        return {}

    async def _fenced_write(self, command: Command) -> dict[str, Any]:
        return {"written": await asyncio.to_thread(_write_fenced, command)}

    async def _guarded_write(self, command: Command) -> dict[str, Any]:
        return {"written": await asyncio.to_thread(_write_guarded, command)}

    async def _block(self, command: Command) -> dict[str, Any]:
        await self._side.block(command["ms"] / 1_000)
        return {}

    async def _close(self, command: Command) -> dict[str, Any]:
        await self._side.call(self._clients[command["client"]].close)
        return {}


def _ttl_of(command: Command) -> dict[str, float]:
    ttl = command.get("ttlMs")
    return {} if ttl is None else {"ttl": ttl / 1_000}


def _if_version_of(command: Command) -> dict[str, int]:
    version = command.get("ifVersion")
    return {} if version is None else {"if_version": int(version)}


def _reason_of(command: Command) -> dict[str, str]:
    reason = command.get("reason")
    return {} if reason is None else {"reason": reason}


def _setting_of(command: Command) -> dict[str, Any]:
    """Return which setting to change, and how."""
    target = {key: command.get(key) for key in ("name", "pattern", "pool")}
    return {**target, **_if_version_of(command), **_reason_of(command)}


def _in_force_json(limit: LimitInForce) -> dict[str, Any]:
    return {
        "limit": limit.limit,
        "version": str(limit.version),
        "heldPermits": limit.held_permits,
        "waiterCount": limit.waiter_count,
        "draining": limit.draining,
        "rate": limit.rate and rate_json(limit.rate),
        "queueRules": limit.queue_rules and queue_rules_json(limit.queue_rules),
        "noLimit": limit.no_limit,
        "counting": limit.counting,
    }


def _limit_json(limit: LimitSetting) -> dict[str, Any]:
    return {
        "name": limit.name,
        "pattern": limit.pattern,
        "pool": limit.pool,
        "use": limit.use and use_json(limit.use),
        "limit": limit.limit,
        "version": str(limit.version),
        "reason": limit.reason,
        "rate": limit.rate and rate_json(limit.rate),
        "queueRules": limit.queue_rules and queue_rules_json(limit.queue_rules),
    }


def _write_fenced(command: Command) -> bool:
    with connect_to(command["url"]) as connection:
        table, key, value = command["table"], command["key"], command["value"]
        return fenced_write(connection, table, key, value, int(command["token"]))


def _write_guarded(command: Command) -> bool:
    with connect_to(command["url"]) as connection:
        table, key, value = command["table"], command["key"], command["value"]
        return guarded_write(connection, command["lockName"], int(command["token"]), table, key, value)
