// Names the line of a Capture: Captures that want the same locks are in one line.

import { hash } from "node:crypto";
import type { CaptureTarget } from "../lock-engine.ts";

export function lineOf(target: CaptureTarget, statuses: readonly string[]): string {
  const line = JSON.stringify([target.kind === "prefix" ? target.prefix : target.names, statuses]);
  // A thousand names are long.
  return line.length <= 512 ? line : hash("sha256", line);
}
