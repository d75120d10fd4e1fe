// Cleans up behind a test run that is cut short, even by a signal that no process can catch: a small shell outlives
// the run, notices that its input has closed, ends the server and removes its directory, or what is mounted there.

import { spawn } from "node:child_process";
import type { Socket } from "node:net";

const SCRIPT = `
while read -r line; do pid=$line; done
[ -n "$pid" ] && kill -KILL "$pid" && sleep 1
umount -l -- "$1" 2>/dev/null
rm -rf -- "$1"
`;

export interface Guardian {
  /** Names the process to end along with this run. A later one takes the place of an earlier one, which has ended. */
  watch(pid: number): void;
  /** Lets it go: the server has been stopped, and its directory removed, in good order. */
  dismiss(): void;
}

/** Posts a guardian for `directory`. A group of its own keeps the terminal's interrupt away from it. */
export function postGuardian(directory: string): Guardian {
  const shell = spawn("sh", ["-c", SCRIPT, "guardian", directory], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  shell.on("error", () => {});
  shell.unref();
  (shell.stdin as Socket).unref();
  return {
    watch: (pid) => void shell.stdin.write(`${pid}\n`),
    dismiss: () => void shell.kill("SIGKILL"),
  };
}
