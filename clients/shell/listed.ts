// Lists what may be long: up to a maximum, and only as far back as a command may search. Says if there is more.

import type { CliContext } from "./context.ts";
import { localTime } from "./past-times.ts";
import { ERASE_LINE, said } from "./print.ts";

const PAGE_SIZE_MAX = 1_000;
/** The server bounds the search for one page; this is how many of such pages a command reads. */
const SEARCHES_MAX = 100;

/** The options that bound a listing of the client. */
export interface Paged {
  readonly pageSize: number;
  readonly searched: (backTo: Date) => void;
}

class SearchedEnough extends Error {}

/**
 * Calls `take` for the first `max` items. Reports how far back the server has searched while it finds too few, and what
 * was left out.
 */
export async function listed<Item>(
  list: (paged: Paged) => AsyncIterable<Item>,
  max: number,
  take: (item: Item) => void,
  { err, errIsTerminal }: CliContext,
): Promise<void> {
  let searches = 0;
  let count = 0;
  const searched = (backTo: Date): void => {
    searches += 1;
    const words = `searched back to ${localTime(backTo)}, ${count} found so far`;
    if (searches === SEARCHES_MAX) throw new SearchedEnough(words);
    err(errIsTerminal ? `${ERASE_LINE}${words}` : said(words));
  };
  let left: string | undefined;
  try {
    // One more than wanted shows whether there is more.
    for await (const item of list({ pageSize: Math.min(max + 1, PAGE_SIZE_MAX), searched })) {
      if (count === max) {
        left = `There are more than these ${max}: see more with a larger --max, or earlier ones with --until.`;
        break;
      }
      count += 1;
      take(item);
    }
  } catch (error) {
    if (!(error instanceof SearchedEnough)) throw error;
    left = `This command searches no further (${error.message}): narrow it with --since, or go on from there with --until.`;
  } finally {
    if (errIsTerminal && searches > 0) err(ERASE_LINE);
  }
  if (left !== undefined) err(said(left));
}
