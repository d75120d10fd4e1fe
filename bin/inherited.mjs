// What a process inherits and Node does not keep, as the lines of sh in rowlock.mjs have found it: ignored signals, and
// variables with odd names. Loading this module keeps both; server/main.ts goes on from there. It starts nothing.

import { constants } from "node:os";

/** The signals that reach a command, through whatever started it. */
export const PASSED_ON = [
  "SIGTERM",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGALRM",
  "SIGWINCH",
];
/** The names of the signals that the caller of this process ignored. */
export const ignored = ignoredSignals(process.env.ROWLOCK_IGNORED_SIGNALS);
// server/main.ts reads the names, and removes the variable.
process.env.ROWLOCK_IGNORED_SIGNALS = ignored.join(" ");
for (const signal of ["SIGTSTP", ...PASSED_ON]) if (ignored.includes(signal)) process.on(signal, () => {});
restoreOddVariables();

/** The names of signals in a mask of /proc, or in a list. */
function ignoredSignals(text = "") {
  const all = Object.entries(constants.signals).filter(([name]) => name !== "SIGKILL" && name !== "SIGSTOP");
  if (!/^[0-9a-f]{16}$/.test(text)) {
    const names = text.split(" ").map((name) => name.replace(/^SIG/, ""));
    return all.map(([name]) => name).filter((name) => names.includes(name.slice(3)));
  }
  const mask = BigInt(`0x${text}`);
  return all.filter(([, number]) => (mask >> BigInt(number - 1)) & 1n).map(([name]) => name);
}

/** Puts back the variables that sh dropped; rowlock.mjs keeps them in some that sh can write, with numbers from 1. */
function restoreOddVariables() {
  let kept = "";
  for (let number = 1; ; number++) {
    const name = `ROWLOCK_ODD_VARIABLES_${number}`;
    if (process.env[name] === undefined) break;
    kept += process.env[name];
    delete process.env[name];
  }
  for (const pair of Buffer.from(kept, "base64").toString().split("\0")) {
    const at = pair.indexOf("=");
    if (at > 0) process.env[pair.slice(0, at)] = pair.slice(at + 1);
  }
}
