#!/bin/sh
# Reports a problem at most once an hour, however many machines notice it. The lock is never released: it ends by itself.
# Usage: alert.sh TROUBLE
set -eu
trouble=$1

# Nobody renews what `rowlock acquire` takes. 75: somebody has already reported it.
rowlock acquire "alert/$trouble" --no-wait --quiet --ttl "${EVERY_SECONDS:-3600}s" > /dev/null || {
  code=$?
  [ "$code" -eq 75 ] && exit 0
  exit "$code"
}
echo "$trouble was reported" # Replace this with your mail.
