#!/bin/sh
# Runs a command under a lock of Rowlock, with nothing but sh and curl, for jobs of CI systems: waits its turn with its place in the
# log, renews beside the command, stops it if the lock is lost, and gives the lock back at the end.
#
# Usage: with-lock.sh NAME COMMAND [ARGUMENT...]
#   ROWLOCK_HTTP          the server, such as https://rowlock.example:8080
#   ROWLOCK_HTTP_TOKEN    the token, if the server asks who calls
#   WAIT_SECONDS (3600), TTL_SECONDS (60; how long the lock is kept without a renewal)
# Ends as the command does, or with 64: the call is wrong, 69: no server of Rowlock answers, 75: not acquired, because it is busy or
# paused, 76: the lock was lost, and the command was stopped, 77: the server does not know the caller, or does not allow it.
set -eu
say() { echo "with-lock: $*" >&2; }
fault() { say "$*" && faults=true; }
seconds() { case $2 in '' | 0* | *[!0-9]* | ????????*) fault "$1 is \"$2\": write whole seconds, such as 60" ;; esac }
[ $# -ge 2 ] || { sed -n '/^# Usage/,/^set/s/^# //p' "$0" >&2 && exit 64; }
faults='' name=$1 at=${ROWLOCK_HTTP:-} ttl=${TTL_SECONDS:-60} wait=${WAIT_SECONDS:-3600}
[ -n "$at" ] || fault 'ROWLOCK_HTTP is not set: write the address of the server, such as https://rowlock.example:8080'
seconds WAIT_SECONDS "$wait"
seconds TTL_SECONDS "$ttl"
case $ttl in 1 | 2) fault "TTL_SECONDS is $ttl: write 3 or more" ;; esac
[ -z "$faults" ] || exit 64
shift
{ command exec 3<&0; } 2>/dev/null || exec 3</dev/null # For the command: what runs in the background gets no input by itself.
lease='' renewing='' server=${at%/}/rowlock.v1.LockService until=$(($(date +%s) + wait))
every=$((ttl / 3)) grace=$((ttl < 6 ? 1 : ttl > 60 ? 10 : ttl / 6))
dir=$(mktemp -d)
printf 'header = "content-type: application/json"\n' >"$dir/curl"
[ -z "${ROWLOCK_HTTP_TOKEN:-}" ] || printf 'header = "authorization: Bearer %s"\n' "$ROWLOCK_HTTP_TOKEN" >>"$dir/curl"

json() { printf %s "$1" | sed 's/[\\"]/\\&/g'; }
field() { printf '%s\n' "$2" | sed -n "s/\\\\\\\\//g; s/\\\\\"/'/g; s/.*\"$1\":\"*\([^\"]*\).*/\1/p"; }
# What an answer says, and who has ended the lease or the place, for which reason.
reason() {
  message=$(field message "$1") by=$(field endedBy "$1") note=$(field note "$1")
  echo "${message:-$1}${by:+ By $by.}${note:+ Reason: $note}"
}
# Sets `answer`; false if it is an error, or not Rowlock's.
call() {
  answer=$(printf %s "$2" | curl -sS -m "${3:-20}" -K "$dir/curl" -d @- "$server/$1" 2>&1) || return 1
  case $answer in '{"code":'*) return 1 ;; '{'*) ;; *) return 1 ;; esac
}
finish() {
  trap '' HUP INT TERM
  [ -z "$renewing" ] || kill -USR1 "$renewing" 2>/dev/null || :
  held=${lease:-$(cat "$dir/ticket" 2>/dev/null || :)} # A place is given up in the same way.
  [ -z "$held" ] || call Release "{\"leaseId\":\"$held\"}" || [ -z "$lease" ] || say "not released: it ends after $ttl s"
  rm -rf "$dir"
}
give_up() { say "not acquired: $2" && exit "$1"; }
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

owner=$(json "${GITHUB_REPOSITORY:-${CI_PROJECT_PATH:-$(hostname)}} ${GITHUB_RUN_ID:-${CI_JOB_ID:-$$}}")
url=$(json "${CI_JOB_URL:-${GITHUB_SERVER_URL:+$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID}}")
terms="{\"ttl\":\"${ttl}s\",\"owner\":\"$owner\"${url:+,\"labels\":{\"url\":\"$url\"\}}}"
left() { echo $(($(date +%s) < until ? until - $(date +%s) : 1)); }
# Makes a request for a place in the queue.
request() {
  rm -f "$dir/ticket" && lease='' id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  ask="{\"request\":{\"name\":\"$(json "$name")\",\"requestId\":\"$id\",\"terms\":$terms,\"maxWait\":\"$(left)s\"}}"
}
connected() { [ ! -e "$dir/outage" ] || { rm -f "$dir/outage" && say "the server answers again"; }; }
# Says the positions, and why it waits, and leaves in the file `end` how the wait has ended: empty if the connection was lost.
follow() {
  printf %s "$ask" | curl -sSN -m $(($(left) + 20)) --connect-timeout 10 --keepalive-time 10 -K "$dir/curl" -d @- \
    -w '\nstatus %{http_code}\n' "$server/WaitInQueue" 2>&1 | while IFS= read -r line && kill -0 $$ 2>/dev/null; do
    case $line in
      'data: {"position":'*)
        connected
        ahead=$(field ahead "$line" | tr -d ,) first=$([ -s "$dir/ticket" ] || echo true) ticket=$(field ticketId "$line")
        echo "$ticket" >"$dir/ticket"
        say "waiting for $name: ${ahead:-0} before this job, after $(field waited "$line")"
        [ -z "$first" ] && [ -n "$ahead" ] || ! call ExplainWait "{\"ticketId\":\"$ticket\"}" || say "$(field summary "$answer")"
        ;;
      'data: {'* | '{"code":"'* | 'curl: ('* | 'status '[!0]*)
        # What comes first counts. Without an end, the status of a stream that has said a position means nothing.
        [ -s "$dir/end" ] || { [ -s "$dir/ticket" ] && [ "$line" != "${line#status}" ]; } || printf '%s\n' "$line" >"$dir/end"
        ;;
    esac
  done
}

request
while :; do
  : >"$dir/end"
  follow &
  wait $! || : # A signal would be heard only after what runs in front.
  end=$(cat "$dir/end")
  if [ "${end#'data: {"granted":'}" != "$end" ]; then
    lease=$(field leaseId "$end") token=$(field fencingToken "$end") renewed=$(date +%s)
    connected
    call Renew "{\"leaseId\":\"$lease\"}" "$every" && break # Until then it is provisional.
    end=$answer
  fi
  why=$(reason "${end:-the connection was lost}")
  case $end in
    *END_REASON_LAPSED* | *'"reason":"UNKNOWN_CLAIM"'*) request ;; # The outage was too long for the place.
    'data: {"ended":'* | 'data: {"refusal":'* | *'"reason":"LEASE_LOST"'*) rm -f "$dir/ticket" && lease='' && give_up 75 "$why" ;;
    *'"code":"unauthenticated"'* | *'"code":"permission_denied"'*) give_up 77 "$why" ;;
    *'"code":"invalid_argument"'* | *'"code":"already_exists"'* | *'"code":"unimplemented"'* | 'curl: (3)'*) give_up 64 "$why" ;;
    'status 429' | 'status 50'*) ;;
    'status '* | 'curl: (1)'* | 'curl: (58)'* | 'curl: (60)'* | 'curl: (77)'*) give_up 69 "no Rowlock at $at: $end" ;;
    'curl: (6)'* | 'curl: (35)'*) [ -s "$dir/ticket" ] || give_up 69 "no Rowlock at $at: $end" ;;
  esac
  [ "$(left)" -gt 1 ] || give_up 69 "no answer of $at: $why"
  [ -e "$dir/outage" ] || { say "tries again for $(left) s: $why" && : >"$dir/outage"; }
  sleep 2 &
  wait $!
  [ ! -s "$dir/ticket" ] || ask="{\"ticketId\":\"$(cat "$dir/ticket")\"}"
done
rm -f "$dir/ticket"

# Where there is setsid, the command has a process group of its own, which is stopped as a whole.
ROWLOCK_NAME=$name ROWLOCK_TOKEN=$token $(command -v setsid || :) "$@" <&3 3<&- &
job=$!
exec 3<&-
stop() { kill "-$1" "-$job" 2>/dev/null || kill "-$1" "$job" 2>/dev/null; }
trap 'stop TERM || :' HUP INT TERM
# Ends with the command, or with this script, whatever has killed it: then the lease ends, too.
(
  trap '' HUP INT TERM
  trap 'exit 0' USR1
  failing=''
  while sleep "$every" >/dev/null 2>&1 & wait $!; do
    begun=$(date +%s)
    if ! kill -0 $$ 2>/dev/null; then
      why='with-lock.sh was killed'
    elif call Renew "{\"leaseId\":\"$lease\"}" "$every"; then
      [ -z "$failing" ] || say 'renewed again'
      failing='' renewed=$begun && continue
    else
      why=$(reason "$answer")
      case $answer in *'"reason":"LEASE_LOST"'* | *'"reason":"UNKNOWN_CLAIM"'*) renewed=0 ;; esac
      [ -n "$failing" ] || [ "$renewed" = 0 ] || say "not renewed, tries again: $why"
      failing=true
      [ $(($(date +%s) - renewed)) -ge $((every * 2)) ] || continue
    fi
    say "the lock was lost, and the command is stopped: $why"
    : >"$dir/lost"
    stop TERM || :
    while [ "$grace" -gt 0 ] && stop 0 && sleep 1; do grace=$((grace - 1)); done
    ! stop KILL || say 'the command did not end by SIGTERM, and was killed'
    kill -0 $$ 2>/dev/null || rm -rf "$dir"
    exit 0
  done
) &
renewing=$!
code=0
while kill -0 "$job" 2>/dev/null; do wait "$job" && code=0 || code=$?; done
[ ! -e "$dir/lost" ] || { lease='' && { wait "$renewing" || :; } && exit 76; }
exit "$code"
