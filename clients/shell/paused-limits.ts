// What the reason of a limit says of a pause: which pauses hold it at 0, what it was before, and why. It is kept there
// and nowhere else, so that any operator can resume, from any machine.

import { TEXT_BYTES_MAX } from "../../server/core/bounds.ts";
import type { LimitView } from "../typescript/src/index.ts";

/** A limit that pauses hold at 0. */
export interface PausedLimit {
  /** The names and patterns that were paused; the limit stays at 0 until all of them are resumed. */
  readonly by: readonly string[];
  /** null: nothing was set. */
  readonly limit: number | null;
  readonly reason: string;
  /** Why it was paused. */
  readonly why: string;
}

const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const REASON = new RegExp(
  String.raw`^(?:(.*) )?\[paused by (${QUOTED}(?:, ${QUOTED})*); was (unset|\d+)(?: (${QUOTED}))?\]$`,
  "s",
);

/** undefined: no pause holds this limit. Whoever sets another limit or reason ends the pause of this setting. */
export function pausedLimit({
  limit,
  reason,
}: {
  readonly limit: number | null;
  readonly reason: string;
}): PausedLimit | undefined {
  const [isPaused, why = "", by = "", was, wasReason = '""'] = (limit === 0 && REASON.exec(reason)) || [];
  if (isPaused === undefined) return undefined;
  try {
    return {
      by: JSON.parse(`[${by}]`) as string[],
      limit: was === "unset" ? null : Number(was),
      reason: JSON.parse(wasReason) as string,
      why,
    };
  } catch {
    return undefined; // somebody has written such a reason by hand
  }
}

/** The same of the limit that is in force. */
export function pausedBy({
  permits,
  reason,
}: Pick<LimitView, "permits" | "reason">): PausedLimit | undefined {
  return pausedLimit({ limit: permits, reason });
}

/** The reason that says so. If it would be too long for a reason, the former reason is shortened. */
export function reasonOf(paused: PausedLimit): string {
  const { by, limit, reason, why } = paused;
  const quoted = by.map((each) => JSON.stringify(each)).join(", ");
  const before = reason === "" ? "" : ` ${JSON.stringify(reason)}`;
  const text = `${why === "" ? "" : `${why} `}[paused by ${quoted}; was ${limit ?? "unset"}${before}]`;
  if (Buffer.byteLength(text) <= TEXT_BYTES_MAX || reason === "") return text;
  const shorter = Array.from(reason.replace(/…$/, "")).slice(0, -1).join("");
  return reasonOf({ ...paused, reason: shorter === "" ? "" : `${shorter}…` });
}
