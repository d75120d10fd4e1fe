"""Makes the client for threads from the asyncio client, so that each verb and its documentation is written once.

The parts of src/rowlock/aio in FILES become files of the same name in src/rowlock, without `async` and `await`. What
differs between the two clients is in two files of the same names: aio/bridge.py and bridge.py. With --check, the script
changes nothing, and fails if a file is outdated.
"""

import re
import sys
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src" / "rowlock"
FILES = ("captured.py", "client.py", "lock.py")

# Each rule must apply somewhere, so that no outdated rule stays here.
RULES = (
    (r"\basync (?=def|with|for)", ""),
    (r"\bawait ", ""),
    (r"\bAwaitable\[(.*?)\]\]", r"\1]"),
    (r"\bCoroutine\[Any, Any, (.*?)\]\]", r"\1]"),
    (r"\b(Awaitable|Coroutine), ", ""),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"from rowlock\.aio\.request import requested\n", ""),
    (r" *@requested\n", ""),
    (r"\browlock\.aio\.", "rowlock."),
    (r"\bAio(?=\w+Options)", ""),
    # Words.
    (r"\ban `with`", "a `with`"),
    (r"a coroutine function so", "a function so"),
    (r"client for asyncio", "client for threads"),
    (r" in asyncio\b", ""),
    (r"on the loop; it may be async", "on its own thread; it may block"),
    (r"\bon the loop\b", "on the callback thread"),
    (r"It belongs to the event loop that uses it first\.", "Any thread may use it."),
    (r"a blocked event loop does", "a busy or blocked program does"),
    (r"asyncio\.CancelledError if the task is", "a RowlockError with CANCELLED if `cancel` is"),
)


def made() -> dict[Path, str]:
    """Return the text of each file."""
    texts = {name: (SOURCES / "aio" / name).read_text() for name in FILES}
    for pattern, replacement in RULES:
        if not any(re.search(pattern, text) for text in texts.values()):
            raise SystemExit(f"scripts/threads.py: nothing matches {pattern!r}")
        texts = {name: re.sub(pattern, replacement, text) for name, text in texts.items()}
    comment = "# Made from aio/{} by scripts/threads.py. Change that file instead.\n"
    return {SOURCES / name: comment.format(name) + text for name, text in texts.items()}


outdated = [path for path, text in made().items() if not path.exists() or path.read_text() != text]
if "--check" in sys.argv and outdated:
    raise SystemExit(
        f"run scripts/threads.py, as these are outdated: {', '.join(path.name for path in outdated)}"
    )
for path, text in made().items():
    path.write_text(text)
