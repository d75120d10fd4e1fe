#!/bin/sh
# Makes the number in a file the limit of a batch job. The configuration system runs this after each change; or cron does, as
# to set what is set already changes nothing.
set -eu
job=$1 file=$2

exec rowlock limit "batch/$job" "$(cat "$file")" --reason "$file"
