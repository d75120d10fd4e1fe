// The page tokens of listings: the bytes of the name or pattern that was listed last. Pure.

import type { LimitSetting } from "../../engine/lock-engine.ts";

/** The first letter distinguishes names from patterns. */
const LETTERS = { pattern: "p", name: "n" } as const;

/** The token of the page of locks that begins after `lastName`. */
export function pageTokenAfter(lastName: string): string {
  return Buffer.from(lastName).toString("base64url");
}

/** The token of the page of limits that begins after `last`. */
export function limitsTokenAfter({ kind, target }: Pick<LimitSetting, "kind" | "target">): string {
  return pageTokenAfter(LETTERS[kind] + target);
}

/** The argument that `pageTokenAfter` made the token from; null: it never made this token. */
export function nameOfPageToken(token: string): string | null {
  const name = Buffer.from(token, "base64url").toString();
  // Neither decoder is strict, so a token counts only if encoding its name gives the same token again.
  return pageTokenAfter(name) === token ? name : null;
}

/** The argument that `limitsTokenAfter` made the token from; null: it never made this token. */
export function settingOfPageToken(token: string): Pick<LimitSetting, "kind" | "target"> | null {
  const text = nameOfPageToken(token);
  const target = text?.slice(1) ?? "";
  if (text?.startsWith(LETTERS.name)) return { kind: "name", target };
  return text?.startsWith(LETTERS.pattern) && target.endsWith("*") ? { kind: "pattern", target } : null;
}
