#!/bin/sh
# Fires each run of a schedule once, also those that were missed while nothing ran; on as many servers as you like:
# sh schedule.sh
# The work stands between the quotes. Its run, ROWLOCK_NAME, is such as runs/2026-01-01T07:00:00Z.
set -eu
job=${JOB:-runs} every=${EVERY_SECONDS:-3600} now=$(date +%s)

# From the runs of the last day on, at whole multiples of the interval.
at=$(((now - ${LOOK_BACK_SECONDS:-86400}) / every * every + every))
while :; do
  # Makes each run whose time has come, unless another server has: then it has a version, and the code is 1.
  while [ "$at" -le "$now" ]; do
    rowlock update "$job/$(date -u -d "@$at" +%FT%TZ)" --status '' --if-version 0 >&2 || [ $? -eq 1 ]
    at=$((at + every))
  done

  # Takes a run that is neither done nor under way, or waits for one until the time of the next one has come. What has failed has
  # said so, and is tried again.
  rowlock capture "$job/" --quiet --wait "$((at - now))s" --if-status '' --if-status failed \
    --status-done done --status-failed failed --cool-down-failed "${RETRY_SECONDS:-60}s" \
    --ttl "${TTL_SECONDS:-30}s" -- sh -euc '
    echo "$ROWLOCK_NAME begins, with token $ROWLOCK_TOKEN"
    sleep "${WORK_SECONDS:-1}"
    echo "$ROWLOCK_NAME ends"
  ' || true
  now=$(date +%s)
done
