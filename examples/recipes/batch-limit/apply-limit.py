"""Makes the number in a file the limit of a batch job.

The configuration system runs this after each change; or cron does, as to set what is set already changes nothing.
"""

import os
import sys
from pathlib import Path

import rowlock

ADDRESSES = os.environ.get("ROWLOCK_ADDR", "127.0.0.1:50051").split(",")
job, file = sys.argv[1:]

knob = int(Path(file).read_text())

with rowlock.connect(ADDRESSES) as client:
    in_force = client.set_limit(knob, name=f"batch/{job}", reason=file)
    print("the limit is", in_force.limit)
