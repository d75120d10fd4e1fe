// Queue rules as people read them: at most 1 waits, the newest wins.

import type { QueueRules } from "../typescript/src/index.ts";

export function queueRulesText({ waitingMax, whenFull, shareBy }: QueueRules): string {
  const parts: string[] = [];
  if (waitingMax !== undefined) parts.push(`at most ${waitingMax} ${waitingMax === 1 ? "waits" : "wait"}`);
  if (whenFull === "end longest waiting") parts.push("the newest wins");
  if (shareBy !== undefined) parts.push(`fair shares by ${shareBy.replace("label:", "label ")}`);
  return parts.join(", ");
}
