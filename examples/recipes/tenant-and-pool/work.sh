#!/bin/sh
# Does jobs of one tenant, one after the other, as one of many workers: sh work.sh TENANT JOB...
set -eu
api=${API:-openai} tenant=$1
shift

for job; do
  # Waits until nobody else does this job, then for room in the tenant's pool, and then in that of all tenants. Replace the
  # command with your own.
  rowlock run "$api/$tenant/$job" --quiet --ttl "${TTL_SECONDS:-30}s" -- sleep "${WORK_SECONDS:-1}"
  echo "$tenant/$job: done"
done
