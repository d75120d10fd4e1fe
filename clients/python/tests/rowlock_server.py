"""A server of this repository on an SQLite file, as a process of its own that can be frozen, killed and started again."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

_HOUSE = Path(__file__).parents[3]
_NODE = _HOUSE / "node_modules/.bin/node"
# Compiled code that one process leaves to the next: half of what it costs to start is to read the sources.
_COMPILED = _HOUSE / "node_modules/.cache/rowlock-compiled"
_START_WITHIN = 60.0


class RowlockServer:
    """Started when it is made; `address` stays the same when it is started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = self._start("127.0.0.1:0")

    def kill(self) -> None:
        """End it in the midst of things."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def start_again(self) -> None:
        """On the same database, at the same address."""
        self._start(self.address)

    def freeze(self) -> None:
        """Let it do nothing, and hold its connections."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """For the end of a test: whatever its state, it is gone afterwards."""
        self.kill()

    def _start(self, listen: str) -> str:
        command = [str(_NODE), "server/main.ts", "serve", "--listen", listen]
        command += ["--metrics-listen", "127.0.0.1:0", "--database-url", f"sqlite:{self._folder}/rowlock.db"]
        environment = {"PATH": os.environ["PATH"], "NODE_COMPILE_CACHE": str(_COMPILED)}
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=_HOUSE, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        late = threading.Timer(_START_WITHIN, self._process.kill)
        late.start()
        try:
            return self._said(re.compile(r"gRPC +(\S+)"), re.compile(r"LockService/Acquire$"))
        finally:
            late.cancel()

    def _said(self, what: re.Pattern[str], end: re.Pattern[str]) -> str:
        """Read its first lines, as a person would."""
        assert self._process.stdout is not None
        found, screen = "", ""
        for line in self._process.stdout:
            screen += line
            match = what.search(line)
            found = match.group(1) if match else found
            if end.search(line.rstrip()):
                # Nothing is said after that, and a pipe that is full would hold it up.
                self._reader = threading.Thread(target=self._process.stdout.read)
                self._reader.start()
                return found
        log = (self._folder / "log").read_text()
        self._process.stdout.close()
        raise AssertionError(f"The server has ended.\n{screen}\n{log}")


def until(holds: Callable[[], object], within: float = 30.0) -> None:
    """Wait until it holds."""
    tick = threading.Event()
    for _ in range(int(within / 0.02)):
        if holds():
            return
        tick.wait(0.02)
    raise AssertionError("waited too long")
