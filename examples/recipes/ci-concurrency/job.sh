#!/bin/sh
# A CI job that deploys to an environment: one at a time, the newest push waits, and those between are skipped.
# Usage: job.sh ENVIRONMENT PUSH
set -eu
environment=$1 push=$2
said=$(mktemp)
trap 'rm -f "$said"' EXIT

# Replace what is between the quotes with your own. Rowlock stops it if the lock is lost.
code=0
rowlock run "ci/$environment" --owner "$push" \
  --ttl "${TTL_SECONDS:-30}s" --wait "${WAIT_SECONDS:-3600}s" -- sh -euc '
    echo "$1 begins"
    sleep "${WORK_SECONDS:-60}"
    echo "$1 ends"
  ' sh "$push" 2>"$said" || code=$?
cat "$said" >&2
[ "$code" -eq 75 ] || exit "$code"
# Any request without the lock ends with 75; what was said tells why.
if grep -q "^rowlock: .*was not acquired: a newer request took the place" "$said"; then
  echo "$push is skipped: a newer push is deployed instead"
  exit 0
fi
echo "$push gives up"
exit 75
