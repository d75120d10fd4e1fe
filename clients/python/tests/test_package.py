"""The package as users get it: its version, its docstrings, its first example, and its end with the process."""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer

import rowlock
import rowlock.aio

_CLIENT = Path(__file__).parents[1]
_ENDS_WITHIN = 30


def run(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=_ENDS_WITHIN,
    ).stdout


def test_has_the_version_of_the_server() -> None:
    server = json.loads((_CLIENT / "../../package.json").read_text())
    assert rowlock.__version__ == server["version"]
    assert f'version = "{server["version"]}"' in (_CLIENT / "pyproject.toml").read_text()


@pytest.mark.parametrize("module", [rowlock, rowlock.aio], ids=lambda module: module.__name__)
def test_every_public_name_has_a_docstring(module: object) -> None:
    for name in module.__all__:  # type: ignore[attr-defined]
        what = getattr(module, name)
        if not (inspect.isclass(what) or inspect.isfunction(what)):
            continue
        assert what.__doc__, name
        for method, function in vars(what).items():
            if not method.startswith("_") and inspect.isfunction(function):
                assert function.__doc__, f"{name}.{method}"


def test_runs_the_first_example_of_its_readme(server: RowlockServer) -> None:
    readme = (_CLIENT / "README.md").read_text()
    match = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert match is not None
    example = match.group(1)
    assert len(example.strip().splitlines()) <= 10
    assert "127.0.0.1:50051" in example
    assert "fencing token 1" in run(example.replace("127.0.0.1:50051", server.address))


def test_a_program_that_ends_releases_what_it_has_left_held(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    run(f"import rowlock; lock = rowlock.connect({server.address!r}).lock({name!r}); print(lock)")
    lock = connect(server.address).try_lock(name)
    assert lock is not None
    assert lock.token == 2


@pytest.mark.parametrize("call", ["", "rowlock.release_on_signal()"])
def test_a_signal_releases_what_is_held_if_the_program_says_so(
    server: RowlockServer, connect: MakeClient, name: str, call: str
) -> None:
    program = f"""
import threading, rowlock
{call}
with rowlock.connect({server.address!r}) as client, client.lock({name!r}, ttl=600) as lock:
    print(flush=True)
    threading.Event().wait()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(_ENDS_WITHIN) == (128 + signal.SIGTERM if call else -signal.SIGTERM)
    assert (connect(server.address).try_lock(name) is not None) is bool(call)


def test_a_handler_of_the_program_stays(server: RowlockServer) -> None:
    program = """
import signal, rowlock
signal.signal(signal.SIGTERM, lambda *_: None)
try:
    rowlock.release_on_signal()
except ValueError as error:
    print(error)
"""
    assert run(program) == "SIGTERM has a handler already\n"


_FORKS = """
import multiprocessing, os, sys, warnings, rowlock
warnings.simplefilter("ignore")
unused, used = rowlock.connect({address!r}), rowlock.connect({address!r})
lock = used.lock({name!r}, ttl=600)
def child(index):
    with rowlock.connect({address!r}) as own, own.lock(f"{name}/own/{{index}}") as new:
        new.check()
    with unused.lock(f"{name}/unused/{{index}}") as new:
        owner = unused.get_lock(new.name).holders[0].owner
        assert owner.endswith(f":{{os.getpid()}}"), owner
    try:
        used.lock("x")
    except rowlock.RowlockError as error:
        return str(error.reason)
with multiprocessing.get_context("fork").Pool(2) as pool:
    print(pool.map(child, range(2)))
pid = os.fork()
if pid == 0:
    child(2)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
lock.check()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_children_use_clients_that_were_not_used_before_the_fork(server: RowlockServer, name: str) -> None:
    assert run(_FORKS.format(address=server.address, name=name)) == "['CLOSED', 'CLOSED']\n3\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_the_child_of_a_fork_gets_an_error(server: RowlockServer, name: str) -> None:
    program = f"""
import os, rowlock
client = rowlock.connect({server.address!r})
lock = client.lock({name!r}, ttl=2.0)
child = os.fork()
if child == 0:
    for use in (lock.check, lock.release, client.close, lambda: client.try_lock("x")):
        try:
            use()
        except rowlock.RowlockError as error:
            os.write(1, f"{{error.reason}} {{lock.state}}; ".encode())
    # As multiprocessing ends its children.
    os._exit(0)
os.waitpid(child, 0)
assert not lock.lost.wait(4)
client.close()
"""
    assert run(program) == "CLOSED lost; " * 4
