#!/bin/sh
# Puts tasks into a queue, with three attempts each. One that is there already, in whatever state, stays as it is.
# Usage: put.sh QUEUE TASK ...
set -eu
queue=$1
shift

for task; do
  code=0
  rowlock update "tasks/$queue/$task" --status new --attempts 3 --if-version 0 > /dev/null || code=$?
  # 1: the server says that there is one.
  [ "$code" -le 1 ] || exit "$code"
done
