#!/bin/sh
# A job that needs several resources at once, each to read or to write. It takes them in the order of their names, as all jobs
# do, so that no two of them wait for each other.
# Usage: resources.sh JOB RESOURCE:read|RESOURCE:write ...
set -eu
job=$1
shift
in_order=$(printf '%s\n' "$@" | LC_ALL=C sort -r)

# Replace this with your work. Rowlock stops it if one of the resources is lost.
set -- sh -euc 'echo "$1 begins"; sleep "${WORK_SECONDS:-60}"; echo "$1 ends"' sh "$job"

# From the last resource to the first, each around what is there already: so the first one is the first to be taken.
for resource in $in_order; do
  case $resource in
    *:read) mode=--shared ;;
    *) mode=--exclusive ;;
  esac
  set -- rowlock run "resource/${resource%:*}" "$mode" --ttl "${TTL_SECONDS:-30}s" --owner "$job" -- "$@"
done
exec "$@"
