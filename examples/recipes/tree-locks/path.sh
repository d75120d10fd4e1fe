#!/bin/sh
# Works on a path of a tree: as the reader of each folder above it, and as the writer of the path itself, all at once.
# Usage: path.sh JOB PATH
set -eu
job=$1 path=$2 tree=${TREE:-tree}

# Replace this with your work. Rowlock stops it if the lock is lost.
set -- sh -euc 'echo "$1 begins"; sleep "${WORK_SECONDS:-60}"; echo "$1 ends"' sh "$job"

set -- --ttl "${TTL_SECONDS:-30}s" --wait "${WAIT_SECONDS:-10}s" --owner "$job" -- "$@"
# At most seven: an eighth folder above has no lock.
folder=$path
while [ "$folder" != "${folder%/*}" ]; do
  folder=${folder%/*}
  set -- --also "$tree/$folder:shared" "$@"
done
exec rowlock run "$tree/$path" --exclusive "$@"
