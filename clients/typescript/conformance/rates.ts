// Converts rates between the protocol and the client.

import type { Rate, RateView } from "../src/index.ts";
import type { Command } from "./verb.ts";

export function givenRate({ permits, perMs, burst }: Command["rate"]): Rate {
  return { permits, per: perMs, ...(burst !== undefined && { burst }) };
}

/** A rate, and what is in force with it if that is known. */
export function rateOf({ permits, per, burst, ...more }: Required<Rate> & Partial<RateView>): object {
  const { source, pattern, reason, available } = more;
  return {
    ...{ permits, perMs: per, burst },
    ...(source !== undefined && { source }),
    ...(pattern !== undefined && { pattern }),
    ...(reason !== undefined && { reason }),
    ...(available !== undefined && { available }),
  };
}
