// The client's bare calls, with assertions about their answers.

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ClaimEnd, Lease, Lock, RateSchema, Refusal, Spent, Ticket } from "#proto/rowlock/v1/lock_pb.js";
import type { AcquireResponse, QueueRequestSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { RowlockError } from "../../clients/typescript/src/bare/index.ts";
import { type BareCallOptions, BareCalls, type RequestOf } from "../../clients/typescript/src/bare/index.ts";
import { QueueStream } from "./queue-stream.ts";
import { WatchedLocks } from "./watched-locks.ts";

/** All that a request may want when the lock is busy: nothing, a ticket, or an answer that waits. */
export const WHEN_BUSY = [
  { case: undefined },
  { case: "enqueue", value: {} },
  { case: "wait", value: {} },
] as const;

type Acquire = Exclude<RequestOf<"acquire">, Uint8Array>;
/** What a message is made of. */
type Parts<Name extends "capture" | "updateRecord"> = Extract<
  Exclude<RequestOf<Name>, Uint8Array>,
  { $typeName?: never }
>;
type Capture = Parts<"capture">;

export const seconds = (count: number) => ({ seconds: BigInt(count), nanos: 0 });
/** The terms of a lease that lasts so long. */
export const withTtl = (count: number) => ({ lasting: { case: "ttl", value: seconds(count) } }) as const;
export const named = (value: string) => ({ target: { case: "name", value } }) as const;
/** A request to wait in a queue. */
export const queued = (value: MessageInitShape<typeof QueueRequestSchema>) =>
  ({ target: { case: "request", value } }) as const;
export const comeBack = (ticketId: string) => ({ target: { case: "ticketId", value: ticketId } }) as const;

interface LimitChange {
  readonly reason?: string;
  readonly expectedVersion?: bigint;
}

export class TestCalls extends BareCalls {
  /** An Acquire that must be granted immediately. */
  async lease(request: Acquire): Promise<Lease> {
    return leaseIn(await this.call("acquire", request));
  }

  /** An Acquire that must be given a ticket. */
  async ticket(request: Acquire): Promise<Ticket> {
    const { outcome } = await this.call("acquire", {
      whenBusy: { case: "enqueue", value: {} },
      ...request,
    } as Acquire);
    if (outcome.case !== "ticket") throw new Error(`expected a ticket, got ${outcome.case}`);
    return outcome.value;
  }

  /** An Acquire that must be refused. */
  async refusal(request: Acquire): Promise<Refusal> {
    const { outcome } = await this.call("acquire", request);
    if (outcome.case !== "refusal") throw new Error(`expected a refusal, got ${outcome.case}`);
    return outcome.value;
  }

  /** An Acquire that must have spent. */
  async spend(request: Acquire): Promise<Spent> {
    const { outcome } = await this.call("acquire", { spendOnly: true, ...request } as Acquire);
    if (outcome.case !== "spent") throw new Error(`expected a spend, got ${outcome.case}`);
    return outcome.value;
  }

  /** An Acquire whose claim must have ended. */
  async ended(request: Acquire): Promise<ClaimEnd> {
    const { outcome } = await this.call("acquire", request);
    if (outcome.case !== "ended") throw new Error(`expected an end, got ${outcome.case}`);
    return outcome.value;
  }

  /** Sets the limit of a name; null removes it. */
  limit(name: string, limit: number | null, more: LimitChange = {}) {
    return this.call("setLimit", {
      target: { case: "name", value: name },
      newLimit: toLimit(limit),
      ...more,
    });
  }

  /** Sets the limit of a pattern; null removes it. */
  limitAll(pattern: string, limit: number | null, more: LimitChange = {}) {
    return this.call("setLimit", {
      target: { case: "pattern", value: pattern },
      newLimit: toLimit(limit),
      ...more,
    });
  }

  /** Sets the rate of a name or of a pattern; null removes it. */
  rate(
    target: { name: string } | { pattern: string },
    rate: MessageInitShape<typeof RateSchema> | null,
    more: LimitChange = {},
  ) {
    return this.call("setLimit", {
      target:
        "name" in target ? { case: "name", value: target.name } : { case: "pattern", value: target.pattern },
      newRate: rate === null ? { case: "unsetRate", value: {} } : { case: "rate", value: rate },
      ...more,
    } as RequestOf<"setLimit">);
  }

  async shown(name: string): Promise<Lock> {
    const { lock } = await this.call("getLock", { name });
    if (!lock) throw new Error("expected a lock");
    return lock;
  }

  /** Ends the holders of a lock, as an operator does. */
  force(name: string, reason = "a test") {
    return this.call("forceRelease", { ...named(name), reason });
  }

  /** Sets the record of a lock that is free to be captured. */
  put(name: string, record: Omit<Parts<"updateRecord">, "name"> = {}) {
    return this.call("updateRecord", { name, status: "new", ...record });
  }

  /** Captures locks under a prefix, or of some names; by default one. */
  async capture(of: string | readonly string[], request: Capture = {}): Promise<Lease[]> {
    return (await this.call("capture", captureOf(of, request))).leases;
  }

  wait(request: RequestOf<"waitInQueue">, options: BareCallOptions = {}): QueueStream {
    return new QueueStream(this.stream("waitInQueue", request, options));
  }

  watch(prefix: string): WatchedLocks {
    const stream = this.stream("watchLocks", { prefix });
    return new WatchedLocks(stream, () => stream.cancel());
  }
}

export function captureOf(of: string | readonly string[], request: Capture = {}): Capture {
  const from: Capture["from"] =
    typeof of === "string"
      ? { case: "prefix", value: of }
      : { case: "names", value: { names: [...of] } as never };
  return { from, maxLeases: 1, ...request };
}

/** All pages of a listing, in order. */
export async function pagesOf<Page extends { readonly nextPageToken: string }>(
  read: (pageToken: string) => Promise<Page>,
): Promise<Page[]> {
  const pages = [await read("")];
  for (let last = pages[0]; last?.nextPageToken; last = pages.at(-1))
    pages.push(await read(last.nextPageToken));
  return pages;
}

function toLimit(limit: number | null) {
  if (limit === null) return { case: "unsetLimit", value: {} } as const;
  return { case: "limit", value: limit } as const;
}

export function leaseIn({ outcome }: AcquireResponse): Lease {
  if (outcome.case !== "lease") throw new Error(`expected a lease, got ${outcome.case}`);
  return outcome.value;
}

/** Field to description. */
export function violationsIn({ violations }: RowlockError): Readonly<Record<string, string>> {
  return Object.fromEntries(violations.map(({ field, description }) => [field, description]));
}
