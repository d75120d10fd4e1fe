#!/bin/sh
# Approves a transaction once, however often somebody clicks: sh approve.sh 100
# The payment stands between the quotes. Unless it ends with 0, it is unclear whether it was made, and a person has to look.
set -eu

code=0
rowlock run "approve/$1" --no-wait --if-status '' --status-done approved --status-failed unclear \
  --ttl "${TTL_SECONDS:-30}s" -- sh -euc '
  echo "pays $1, with token $ROWLOCK_TOKEN"
  sleep "${WORK_SECONDS:-1}"
  echo "paid $1"
' sh "$1" || code=$?

case $code in
  0) echo approved ;;
  75) echo refused ;; # rowlock has said why: somebody is at it, or what its status is
  64 | 69) exit 1 ;; # no Rowlock server answered
  *) echo unclear ;;
esac
