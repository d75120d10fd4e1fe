#!/bin/sh
# Asks a model one question after the other, as one of many processes that share its rate: sh ask.sh QUESTION...
set -eu
model=${MODEL:-model/large} url=${MODEL_URL:-http://127.0.0.1:8080/}
got=$(mktemp -d)
trap 'rm -r "$got"' EXIT

for question; do
  while :; do
    # Waits in the queue: for room, for the rate, and for the end of a rest. Nobody renews the lease, so it outlasts the call.
    eval "$(rowlock acquire "$model" --quiet --ttl "${TTL_SECONDS:-60}s")" || exit
    # Replace this with your own.
    status=$(curl --silent --show-error --max-time "${CALL_SECONDS:-50}" --data-raw "$question" \
      --dump-header "$got/head" --output "$got/answer" --write-out '%{http_code}' "$url") || status=0
    case $status in
      200)
        rowlock release "$ROWLOCK_LEASE" >/dev/null
        echo "$question: $(cat "$got/answer")"
        break
        ;;
      429)
        # Until the rest is over, no process has a turn.
        rest=$(tr -d '\r' <"$got/head" | awk 'tolower($1) == "retry-after:" { print $2 }')
        rowlock release "$ROWLOCK_LEASE" --cool-down "${rest:-${REST_SECONDS:-10}}s" >/dev/null
        ;;
      *)
        rowlock release "$ROWLOCK_LEASE" >/dev/null
        exit 1
        ;;
    esac
  done
done
