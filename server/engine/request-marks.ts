// Stands for principals in the request ids under which claims are kept. A principal may be as long as a request id, so its
// hash stands for it.

import { createHash } from "node:crypto";
import { RecentMap } from "../core/recent-map.ts";
import { PRINCIPALS_REMEMBERED_MAX } from "./engine-bounds.ts";

const MARK_BYTES = 16;

const marks = new RecentMap<string, string>(PRINCIPALS_REMEMBERED_MAX);

/** 22 characters of base64url; empty for nobody. */
export function markOf(principal = ""): string {
  if (principal === "") return "";
  const known = marks.get(principal);
  if (known !== undefined) return known;
  const mark = createHash("sha256").update(principal).digest().subarray(0, MARK_BYTES).toString("base64url");
  marks.set(principal, mark);
  return mark;
}
