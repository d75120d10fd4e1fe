// Queue rules as people read them: at most 1 waits, the newest wins.

import type { QueueRules } from "../typescript/src/index.ts";

export function queueRulesText({ waitingMax, whenFull }: QueueRules): string {
  const most = `at most ${waitingMax} ${waitingMax === 1 ? "waits" : "wait"}`;
  return whenFull === "end longest waiting" ? `${most}, the newest wins` : most;
}
