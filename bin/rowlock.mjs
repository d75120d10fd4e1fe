#!/bin/sh
":" /*
# The command `rowlock`. sh runs the lines of this comment, and Node the line below it. sh comes first because Node
# resets the signals that its caller ignored (nohup, a background job of a script) before any JavaScript runs. This file
# must not be formatted. On Windows, run it with node.
ROWLOCK_IGNORED_SIGNALS=
if [ -r /proc/self/status ]; then
  # A mask in hexadecimal.
  while read -r key value; do
    case $key in SigIgn:) ROWLOCK_IGNORED_SIGNALS=$value && break ;; esac
  done </proc/self/status
else
  # Where there is no /proc: a signal that is ignored does not end a process.
  for name in HUP INT QUIT TERM USR1 USR2 PIPE; do
    (ulimit -c 0; exec sh -c "kill -s $name \$\$; exit 0") && ROWLOCK_IGNORED_SIGNALS="$ROWLOCK_IGNORED_SIGNALS $name"
  done 2>/dev/null
fi
export ROWLOCK_IGNORED_SIGNALS
# Some shells drop variables whose names they could not write, such as exported functions of bash.
odd='^[A-Za-z0-9_]*[^A-Za-z0-9_=]'
if LC_ALL=C grep -qz "$odd" /proc/$$/environ 2>/dev/null; then
  ROWLOCK_ODD_VARIABLES=$(LC_ALL=C grep -z "$odd" /proc/$$/environ | base64)
  export ROWLOCK_ODD_VARIABLES
fi
# SIGUSR1 opens Node's debugger until JavaScript handles it. It cannot open at an address that no machine has (RFC 5737).
# --disable-sigusr1 is too new for some Nodes, and would keep the signal from the command of `rowlock run`.
exec node --inspect-port=192.0.2.1:9229 "$0" "$@"
*/
import "./launch.mjs";
