"""The package as users get it: its version, its docstrings, its first example, and its end with the process."""

from __future__ import annotations

import inspect
import json
import os
import re
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
