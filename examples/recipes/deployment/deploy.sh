#!/bin/sh
# Deploys a service that uses a database: one deployment of each service at a time, and none of any while its database is
# migrated. Usage: deploy.sh SERVICE DATABASE use|migrate
set -eu
service=$1 database=$2
case $3 in
  migrate) mode=exclusive ;;
  *) mode=shared ;;
esac

# Replace what is between the quotes with your own. Rowlock stops it if the locks are lost.
code=0
rowlock run "deploy/$service" --also "database/$database:$mode" --owner "$service" \
  --ttl "${TTL_SECONDS:-30}s" --wait "${WAIT_SECONDS:-600}s" -- sh -euc '
    echo "$1 begins"
    sleep "${WORK_SECONDS:-60}"
    echo "$1 ends"
  ' sh "$service" || code=$?
[ "$code" -ne 75 ] || echo "$service gives up"
exit "$code"
