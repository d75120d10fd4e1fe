#!/bin/sh
# Runs a command under a lock of Rowlock, with nothing but sh and curl, for jobs of CI systems: waits its turn with its place in the
# log, renews beside the command, stops it if the lock is lost, and gives the lock back at the end.
#
# Usage: with-lock.sh NAME COMMAND [ARGUMENT...]
#   ROWLOCK_HTTP        the server, such as https://rowlock.example:8080
#   ROWLOCK_HTTP_TOKEN  the token, if the server asks who calls
#   WAIT_SECONDS (3600), TTL_SECONDS (60)
# Ends as the command does; with 75 if the lock was not acquired, and with 76 if it was lost.
set -eu
server=${ROWLOCK_HTTP:?set it to the address of the server}/rowlock.v1.LockService
name=$(printf %s "$1" | sed 's/[\\"]/\\&/g') ttl=${TTL_SECONDS:-60} lease='' lost='' job=''
owner="${GITHUB_REPOSITORY:-${CI_PROJECT_PATH:-$(hostname)}} ${GITHUB_RUN_ID:-${CI_JOB_ID:-$$}}"
url=${CI_JOB_URL:-${GITHUB_SERVER_URL:+$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID}}
shift
dir=$(mktemp -d)
printf 'header = "content-type: application/json"\n' >"$dir/curl"
[ -z "${ROWLOCK_HTTP_TOKEN:-}" ] || printf 'header = "authorization: Bearer %s"\n' "$ROWLOCK_HTTP_TOKEN" >>"$dir/curl"

say() { echo "with-lock: $*" >&2; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
sentence() { sed -n "s/\\\\\"/'/g; s/.*\"message\":\"\([^\"]*\).*/\1/p"; }
call() { curl -sS --fail-with-body -m 20 -K "$dir/curl" -d "$2" "$server/$1"; }
finish() {
  trap '' INT TERM
  [ -z "${renewing:-}" ] || kill "$renewing" 2>/dev/null || :
  [ -n "$lease$lost" ] || lease=$(cat "$dir/ticket" 2>/dev/null || :) # A place is given up in the same way.
  [ -z "$lease" ] || call Release "{\"leaseId\":\"$lease\"}" >/dev/null || say "not released: it ends after $ttl s"
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# One line for each message: a position, the grant, or why there is none. If the connection is lost, the place is kept for a while.
id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
terms="{\"ttl\":\"${ttl}s\",\"owner\":\"$owner\"${url:+,\"labels\":{\"url\":\"$url\"\}}}"
ask="{\"request\":{\"name\":\"$name\",\"requestId\":\"$id\",\"terms\":$terms,\"maxWait\":\"${WAIT_SECONDS:-3600}s\"}}"
for try in 1 2 3 4 5 6 7 8 9 10; do
  curl -sSN -K "$dir/curl" -d "$ask" "$server/WaitInQueue" 2>&1 | while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      'data: {"position":'*)
        echo "$line" | field ticketId >"$dir/ticket"
        ahead=$(echo "$line" | field ahead)
        say "waiting for $name: ${ahead:-0} before this job, after $(echo "$line" | field waited)"
        ;;
      *'"code":"unavailable"'*) say "$(echo "$line" | sentence)" ;;
      'data: {'* | '{'*) echo "$line" >"$dir/end" ;;
      curl:*) say "$line" ;;
    esac
  done &
  wait $! # A signal would be heard only after what runs in front.
  [ ! -s "$dir/end" ] || break
  [ ! -s "$dir/ticket" ] || ask="{\"ticketId\":\"$(cat "$dir/ticket")\"}"
  [ "$try" = 10 ] || sleep 2
done
case $(cat "$dir/end" 2>/dev/null) in
  'data: {"granted":'*) lease=$(field leaseId <"$dir/end") token=$(field fencingToken <"$dir/end") ;;
  *) say "not acquired: $(sentence <"$dir/end" 2>/dev/null || echo "no answer of $server")" && lost=true && exit 75 ;;
esac
call Renew "{\"leaseId\":\"$lease\"}" >/dev/null || { say "lost before the command began" && exit 76; }

# Where there is setsid, the command has a process group of its own, which is stopped as a whole.
ROWLOCK_NAME=$name ROWLOCK_TOKEN=$token $(command -v setsid || :) "$@" &
job=$!
stop() { kill -TERM "-$job" 2>/dev/null || kill -TERM "$job" 2>/dev/null || :; }
trap stop INT TERM
(
  renewed=$(date +%s)
  while sleep $((ttl / 3)) >/dev/null 2>&1; do
    if answer=$(call Renew "{\"leaseId\":\"$lease\"}" 2>&1); then renewed=$(date +%s) && continue; fi
    case $answer in *LEASE_LOST* | *UNKNOWN_CLAIM*) renewed=0 ;; esac
    [ $(($(date +%s) - renewed)) -ge $((ttl * 2 / 3)) ] || continue
    : >"$dir/lost"
    stop
    exit
  done
) &
renewing=$!
code=0
while kill -0 "$job" 2>/dev/null; do wait "$job" && code=0 || code=$?; done
[ ! -e "$dir/lost" ] || { lease='' lost=true && say "the lock was lost, and the command was stopped" && exit 76; }
exit "$code"
