#!/bin/sh
# A worker of one queue: does up to three tasks at a time, and says by its exit code how each has gone. Ends when there has been
# nothing to do for a while.
# Usage: worker.sh QUEUE
set -eu
queue=$1

# Replace what is between the quotes with your work. Rowlock stops it if the task is lost.
take() {
  rowlock capture "tasks/$queue/" --quiet --wait "${IDLE_SECONDS:-600}s" --ttl "${TTL_SECONDS:-30}s" \
    --if-status new --if-status failed --status-done done --status-failed failed \
    --cool-down-failed "${RETRY_SECONDS:-60}s" -- sh -euc '
      task=${ROWLOCK_NAME#tasks/}
      echo "$task begins"
      sleep "${WORK_SECONDS:-60}"
      if [ "${task#*/}" = "${FAIL:-}" ]; then echo "$task fails"; exit 1; fi
      echo "$task ends"
    '
}

slot() {
  while :; do
    code=0
    take || code=$?
    case $code in
      69) sleep 5 ;; # no server has answered
      75) break ;;   # there was nothing to do
    esac
  done
}

slot & slot & slot &
wait
