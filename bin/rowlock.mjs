#!/bin/sh
":" /*
# The command `rowlock`. sh runs the lines of this comment, and Node the line below it. sh comes first because Node
# resets the signals that its caller ignored (nohup, a background job of a script) before any JavaScript runs. This file
# must not be formatted. On Windows, run it with node.
# All its own variables begin with ROWLOCK_: another name could be one that the caller has exported.
if [ -r /proc/self/status ]; then
  # A mask in hexadecimal, as another process gets it: bash itself always ignores SIGQUIT.
  ROWLOCK_IGNORED_SIGNALS=$(sed -n 's/^SigIgn:.\([0-9a-f]*\)$/\1/p' /proc/self/status)
else
  # Where there is no /proc: a signal that is ignored does not end a process.
  ROWLOCK_IGNORED_SIGNALS=
  for ROWLOCK_ROW in HUP INT TERM USR1 USR2 ALRM PIPE; do
    (ulimit -c 0; exec sh -c "kill -s $ROWLOCK_ROW \$\$; exit 0") &&
      ROWLOCK_IGNORED_SIGNALS="$ROWLOCK_IGNORED_SIGNALS $ROWLOCK_ROW"
  done 2>/dev/null
  # Background jobs of scripts ignore both.
  case $ROWLOCK_IGNORED_SIGNALS in *INT*) ROWLOCK_IGNORED_SIGNALS="$ROWLOCK_IGNORED_SIGNALS QUIT" ;; esac
fi
export ROWLOCK_IGNORED_SIGNALS
# Some shells drop variables whose names they could not write, such as exported functions of bash. One variable can have
# 128 KiB, so these are cut into several.
ROWLOCK_ROW='^([0-9]|[A-Za-z0-9_]*[^A-Za-z0-9_=])'
if LC_ALL=C grep -Eqz "$ROWLOCK_ROW" /proc/$$/environ 2>/dev/null; then
  eval "$(LC_ALL=C grep -Ez "$ROWLOCK_ROW" /proc/$$/environ | base64 -w 100000 |
    awk '{ print "export ROWLOCK_ODD_VARIABLES_" NR "=" $0 }')"
fi
unset ROWLOCK_ROW
# SIGUSR1 opens Node's debugger until JavaScript handles it. It cannot open at an address that no machine has (RFC 5737).
# --disable-sigusr1 is too new for some Nodes, and would keep the signal from the command of `rowlock run`.
exec node --inspect-port=192.0.2.1:9229 "$0" "$@"
*/
import "./launch.mjs";
