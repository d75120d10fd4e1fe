// A claim as listings show it, with defaults for everything but what the test is about.

import type { ClaimView } from "../../../clients/typescript/src/index.ts";

export function claimView(more: Partial<ClaimView>): ClaimView {
  return {
    lockName: "etl/load",
    ticketNumber: 1n,
    state: "ended",
    mode: "permit",
    permits: 1,
    owner: "nightly",
    labels: {},
    requestedAt: new Date(0),
    ...more,
  };
}
