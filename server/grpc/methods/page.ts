// One page of a listing: as many items as fit into an answer that clients accept; and tokens for the next one. Encoding
// takes about as long as reading, so each item is encoded as it arrives: the encodings of a message's parts, one after
// the other, are the message.

import { createHash } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../../core/bounds.ts";
import type { Listed } from "../../engine/history.ts";
import type { Call } from "../call.ts";
import { PAGE_BYTES_MAX } from "../grpc-bounds.ts";
import { timestampMessage } from "../messages/messages.ts";
import type { Check } from "./fields.ts";

/** A checked request for a page; `mark`: for the tokens of further pages. */
export interface PageAsked<Query> {
  readonly query: Query;
  readonly pageSize: number;
  readonly mark: string;
}

export interface Listing<Answer extends DescMessage, Item, Position> {
  readonly schema: Answer;
  readonly pageSize: number;
  readonly items: AsyncIterable<Listed<Item, Position>>;
  readonly shown: (item: Item) => MessageInitShape<Answer>;
  readonly token: (at: Position) => string;
  readonly rest?: MessageInitShape<Answer>;
  /** Looks whether anything follows a full page. Otherwise that may take a long search, and is left to the next call. */
  readonly looksAhead?: boolean;
}

export async function pageOf<Answer extends DescMessage, Item, Position>(
  { schema, pageSize, items, shown, token, rest, looksAhead = false }: Listing<Answer, Item, Position>,
  { signal }: Pick<Call, "signal">,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const encoded = (part: object) => toBinary(schema, create(schema, part as MessageInitShape<Answer>));
  const answer = (more: object) => Buffer.concat([...parts, encoded({ ...rest, ...more })]);
  let after: { readonly at: Position } | undefined;
  for await (const listed of items) {
    signal.throwIfAborted();
    if (listed.kind === "stopped") {
      const { at, backToUs } = listed;
      const searchedBackTo = backToUs === null ? {} : { searchedBackTo: timestampMessage(backToUs) };
      return answer({ nextPageToken: token(at), ...searchedBackTo });
    }
    const part = encoded(shown(listed.item));
    // There is room for the first, so that a listing advances.
    const hasRoom = parts.length < pageSize && bytes + part.length <= PAGE_BYTES_MAX;
    if (hasRoom || !after) {
      parts.push(part);
      bytes += part.length;
      after = listed;
      if (parts.length < pageSize || looksAhead) continue;
    }
    return answer({ nextPageToken: token(after.at) });
  }
  return answer({});
}

export function checkPageSize(pageSize: number, check: Check): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) {
    check.add(
      "page_size",
      `is ${pageSize}; use 1 to ${PAGE_SIZE_MAX}, or leave it unset for ${PAGE_SIZE_DEFAULT}`,
    );
  }
  return pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize;
}

export const FOREIGN_TOKEN = "is not one of this server: pass next_page_token of the page before, unchanged";

interface PageRequest {
  readonly labels?: Readonly<Record<string, string>>;
  readonly pageToken: string;
}

/** Stands for all that a request for a page says, except which page and how long: 48 bits, against mistakes. */
export function requestMark<Request extends DescMessage>(
  schema: Request,
  { labels = {}, ...message }: MessageInitShape<Request> & PageRequest,
): string {
  // Maps have no order.
  const sorted = Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
  const same = {
    ...message,
    labels: sorted,
    pageToken: "",
    pageSize: 0,
  } as unknown as MessageInitShape<Request>;
  const bytes = toBinary(schema, create(schema, same));
  return createHash("sha256").update(bytes).digest("base64url").slice(0, MARK_CHARS);
}

const MARK_CHARS = 8;

/** The token of the page that begins after `place`, for requests with this mark. */
export function tokenAfter(mark: string, place: string): string {
  return mark + Buffer.from(place).toString("base64url");
}

/** Returns the place that the token was made for, as `read` reads it; null: there is none, or the token is refused. */
export function placeOfToken<Place>(
  token: string,
  mark: string,
  read: (place: string) => Place | null,
  check: Check,
): Place | null {
  if (token === "") return null;
  const text = Buffer.from(token.slice(MARK_CHARS), "base64url").toString();
  // The decoder is not strict, so a token counts only if encoding its place gives the same token again.
  const isOurs = tokenAfter(token.slice(0, MARK_CHARS), text) === token;
  const place = isOurs ? read(text) : null;
  if (place === null) check.add("page_token", FOREIGN_TOKEN);
  if (isOurs && text !== "" && !token.startsWith(mark)) {
    check.add(
      "page_token",
      "belongs to another request: change nothing else in it, or begin without a token",
    );
  }
  return place;
}
