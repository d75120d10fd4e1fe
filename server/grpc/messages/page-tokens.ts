// The tokens between two pages of a listing: the bytes of what was listed last. Pure.

import type { LimitSetting } from "../../engine/lock-engine.ts";

/** Names and patterns are told apart by the first letter. */
const LETTERS = { pattern: "p", name: "n" } as const;

/** The token of the page of locks that begins after `lastName`. */
export function pageTokenAfter(lastName: string): string {
  return Buffer.from(lastName).toString("base64url");
}

/** The token of the page of limits that begins after `last`. */
export function limitsTokenAfter({ kind, target }: Pick<LimitSetting, "kind" | "target">): string {
  return pageTokenAfter(LETTERS[kind] + target);
}

/** What `pageTokenAfter` was given; null for a token that it has never made. */
export function nameOfPageToken(token: string): string | null {
  const name = Buffer.from(token, "base64url").toString();
  // Neither decoder is strict: what does not come out again as it went in was never given out.
  return pageTokenAfter(name) === token ? name : null;
}

/** What `limitsTokenAfter` was given; null for a token that it has never made. */
export function settingOfPageToken(token: string): Pick<LimitSetting, "kind" | "target"> | null {
  const text = nameOfPageToken(token);
  const target = text?.slice(1) ?? "";
  if (text?.startsWith(LETTERS.name)) return { kind: "name", target };
  return text?.startsWith(LETTERS.pattern) && target.endsWith("*") ? { kind: "pattern", target } : null;
}
