#!/bin/sh
# Tells of a trouble, once an hour at the most, whichever of all machines notice it. The lock is never released: it ends by itself.
# Usage: alert.sh TROUBLE
set -eu
trouble=$1

# Nobody renews what `rowlock acquire` takes. 75: somebody has told of it already.
rowlock acquire "alert/$trouble" --no-wait --quiet --ttl "${EVERY_SECONDS:-3600}s" > /dev/null || {
  code=$?
  [ "$code" -eq 75 ] && exit 0
  exit "$code"
}
echo "$trouble is told" # In place of your mail.
