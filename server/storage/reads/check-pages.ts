// Pages of a check: each begins after the key with which the one before ends.

import { bigintOf, type Row } from "../rows/from-rows.ts";
import { CHECK_PAGE } from "../storage-bounds.ts";

export type PageKey = Readonly<Record<string, bigint>>;

/** The key with which the last row of a page ends, under the names of the first key; null: there is no further page. */
export function keyAfter(page: readonly Row[], first: PageKey): PageKey | null {
  const last = page.at(-1);
  if (!last || page.length < CHECK_PAGE) return null;
  const names = Object.keys(first);
  return Object.fromEntries(names.map((name, at) => [name, bigintOf(last.at(at - names.length))]));
}
