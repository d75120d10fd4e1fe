// What a request asks of its lease, whichever call takes it.

import { create } from "@bufbuild/protobuf";
import { type LeaseTerms, LeaseTermsSchema } from "#proto/rowlock/v1/lock_pb.js";
import { type Forever, TTL_MS } from "./options.ts";
import type { Backoff, RecordOptions } from "./records.ts";
import { durationOf } from "./times.ts";

interface TermsOptions extends RecordOptions {
  readonly ttl?: number | Forever;
  readonly owner?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

export function leaseTermsOf(options: TermsOptions): LeaseTerms {
  const { ttl = TTL_MS, owner = "", labels = {} } = options;
  const { minInterval, lockDelay, statusIfLost, backoff, ifStatus = [] } = options;
  return create(LeaseTermsSchema, {
    lasting: ttl === "forever" ? { case: "noExpiry", value: {} } : { case: "ttl", value: durationOf(ttl) },
    owner,
    labels: { ...labels },
    ...(minInterval !== undefined && { minInterval: durationOf(minInterval) }),
    ...(lockDelay !== undefined && { lockDelay: durationOf(lockDelay) }),
    ...(statusIfLost !== undefined && { statusIfLost }),
    ifStatus: [ifStatus].flat(),
    ...(backoff && { backoff: backoffOf(backoff) }),
  });
}

function backoffOf({ first, max }: Backoff) {
  return { first: durationOf(first), ...(max !== undefined && { max: durationOf(max) }) };
}

/** The terms of a claim that is no lease, as it ends with its grant. */
export function spendTermsOf({ owner = "", labels = {}, ifStatus = [] }: TermsOptions): LeaseTerms {
  return create(LeaseTermsSchema, { owner, labels: { ...labels }, ifStatus: [ifStatus].flat() });
}

/** Adds the owner and the labels of a client to terms, whose own come first. */
export function ownedTerms(
  terms: LeaseTerms | undefined,
  { owner, labels }: Required<Pick<TermsOptions, "owner" | "labels">>,
): LeaseTerms {
  const own = terms ?? create(LeaseTermsSchema);
  return { ...own, owner: own.owner || owner, labels: { ...labels, ...own.labels } };
}
