// One page of a listing: as many items as fit into an answer that clients accept; and tokens for the next one. Encoding
// takes about as long as reading, so each item is encoded as it arrives: the encodings of a message's parts, one after
// the other, are the message.

import { createHash } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from "../../core/bounds.ts";
import { PAGE_BYTES_MAX } from "../grpc-bounds.ts";
import type { Violations } from "./fields.ts";

export class Page<Answer extends DescMessage> {
  readonly #schema: Answer;
  readonly #parts: Uint8Array[] = [];
  readonly #sizeMax: number;
  #bytes = 0;

  constructor(schema: Answer, sizeMax: number) {
    this.#schema = schema;
    this.#sizeMax = sizeMax;
  }

  get isFull(): boolean {
    return this.#parts.length === this.#sizeMax;
  }

  /** Takes an answer with one item. Returns false if there is no room for it; there is for the first, so that a listing advances. */
  take(item: MessageInitShape<Answer>): boolean {
    if (this.isFull) return false;
    const part = this.#encoded(item);
    if (this.#bytes + part.length > PAGE_BYTES_MAX && this.#parts.length > 0) return false;
    this.#parts.push(part);
    this.#bytes += part.length;
    return true;
  }

  /** The answer with the items, and with what else it says. */
  answer(rest?: MessageInitShape<Answer>): Buffer {
    return Buffer.concat(rest ? [...this.#parts, this.#encoded(rest)] : this.#parts);
  }

  #encoded(part: MessageInitShape<Answer>): Uint8Array {
    return toBinary(this.#schema, create(this.#schema, part));
  }
}

export function checkPageSize(pageSize: number, violations: Violations): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) {
    violations.add(
      "page_size",
      `is ${pageSize}; use 1 to ${PAGE_SIZE_MAX}, or leave it unset for ${PAGE_SIZE_DEFAULT}`,
    );
  }
  return pageSize === 0 ? PAGE_SIZE_DEFAULT : pageSize;
}

/** Why a page token is refused that no server made. */
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

/** Returns the place that the token was made for; null: there is none, or the token is refused. */
export function placeOfToken(token: string, mark: string, violations: Violations): string | null {
  if (token === "") return null;
  const place = Buffer.from(token.slice(MARK_CHARS), "base64url").toString();
  // The decoder is not strict, so a token counts only if encoding its place gives the same token again.
  if (tokenAfter(token.slice(0, MARK_CHARS), place) !== token || place === "") {
    violations.add("page_token", FOREIGN_TOKEN);
    return null;
  }
  if (!token.startsWith(mark)) {
    violations.add(
      "page_token",
      "belongs to another request: change nothing else in it, or begin without a token",
    );
  }
  return place;
}
