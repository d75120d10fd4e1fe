#!/bin/sh
# A job of a tenant that needs one of a few GPUs. Tenants get them in turn, however many jobs each of them starts.
# Usage: job.sh TENANT JOB
set -eu
tenant=$1 job=$2

# Replace what is between the quotes with your own. Rowlock stops it if the lock is lost.
exec rowlock run gpu --owner "$job" --label "tenant=$tenant" \
  --ttl "${TTL_SECONDS:-30}s" --wait "${WAIT_SECONDS:-3600}s" -- sh -euc '
    echo "$1 begins"
    sleep "${WORK_SECONDS:-60}"
    echo "$1 ends"
  ' sh "$job"
