// Cleans up after a test run that is cut short, even by a signal that no process can catch: a small shell outlives the
// run, notices that its input has closed, ends the server and removes its directory and anything mounted there.

import { spawn } from "node:child_process";
import type { Socket } from "node:net";

const SCRIPT = `
while read -r line; do pid=$line; done
[ -n "$pid" ] && kill -KILL "$pid" && sleep 1
umount -l -- "$1" 2>/dev/null
rm -rf -- "$1"
`;

export interface Guardian {
  /** Sets the process to end along with this run. A later call replaces an earlier process, which has ended. */
  watch(pid: number): void;
  /** Ends the guardian: the server was stopped and its directory removed normally. */
  dismiss(): void;
}

/** Starts a guardian for `directory`. Its separate process group keeps the terminal's interrupt away from it. */
export function postGuardian(directory: string): Guardian {
  const shell = spawn("sh", ["-c", SCRIPT, "guardian", directory], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.on("error", () => {});
  shell.unref();
  (shell.stdin as Socket).unref();
  return { watch: (pid) => void shell.stdin.write(`${pid}\n`), dismiss: () => void shell.kill("SIGKILL") };
}
