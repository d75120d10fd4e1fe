// Queue rules as people read them: at most 1 waits, the newest wins.

import type { QueueRules } from "../typescript/src/index.ts";
import { timeWords } from "./print.ts";

export function queueRulesText({ waitingMax, whenFull, shareBy, headStartMax }: QueueRules): string {
  const parts: string[] = [];
  if (waitingMax !== undefined) parts.push(`at most ${waitingMax} ${waitingMax === 1 ? "waits" : "wait"}`);
  if (whenFull === "end longest waiting") parts.push("the newest wins");
  if (shareBy !== undefined) parts.push(`fair shares by ${shareBy.replace("label:", "label ")}`);
  if (headStartMax !== undefined) parts.push(`head starts up to ${timeWords(headStartMax)}`);
  return parts.join(", ");
}
