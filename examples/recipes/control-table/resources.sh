#!/bin/sh
# A job that needs several resources, each to read or to write. It gets all of them at once, and holds none while it waits.
# Usage: resources.sh JOB RESOURCE:read|RESOURCE:write ...
set -eu
job=$1 first=$2
shift 2
resources=$*

case $first in *:read) mode=--shared ;; *) mode=--exclusive ;; esac
set -- "resource/${first%:*}" "$mode" --ttl "${TTL_SECONDS:-30}s" --owner "$job"
for resource in $resources; do
  case $resource in *:read) mode=shared ;; *) mode=exclusive ;; esac
  set -- "$@" --also "resource/${resource%:*}:$mode"
done

# Replace what is between the quotes with your work. Rowlock stops it if the resources are lost.
exec rowlock run "$@" -- sh -euc 'echo "$1 begins"; sleep "${WORK_SECONDS:-60}"; echo "$1 ends"' sh "$job"
