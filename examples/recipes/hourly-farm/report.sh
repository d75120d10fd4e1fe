#!/bin/sh
# Runs on each of 25 identical servers, one of which makes the report of the hour: sh report.sh
# The report stands between the quotes. It is stopped when the lock is lost, before another server begins.
set -eu
job=${JOB:-hourly/report} server=${SERVER:-$(uname -n)}

while :; do
  # Waits in the queue, until it is first in it and the hour is over; or until whoever runs the job has died.
  # If the report is not made, the next server tries soon, and not in an hour.
  rowlock run "$job" --quiet --owner "$server" --ttl "${TTL_SECONDS:-30}s" \
    --at-most-every "${EVERY_SECONDS:-3600}s" --cool-down-failed "${RETRY_SECONDS:-60}s" -- sh -euc '
    echo "$1 begins, with token $ROWLOCK_TOKEN"
    sleep "${WORK_SECONDS:-5}"
    echo "$1 ends"
  ' sh "$server" || case $? in 64 | 69) exit 1 ;; esac # no Rowlock server answered
done
