"""The examples that need nothing but a server, run as their first lines say."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rowlock_server import RowlockServer

_NIGHTLY = Path(__file__).parents[1] / "examples/nightly_load.py"


def test_one_of_many_machines_runs_the_nightly_load(server: RowlockServer, name: str) -> None:
    def machine(_: int) -> str:
        command = [sys.executable, str(_NIGHTLY), server.address, name]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout

    with ThreadPoolExecutor() as pool:
        said = sorted(pool.map(machine, range(3)))
    assert said[0] == f"loading {name} with token 1\n"
    assert all(text in ("nothing to do: BUSY\n", "nothing to do: NOT_BEFORE\n") for text in said[1:])
