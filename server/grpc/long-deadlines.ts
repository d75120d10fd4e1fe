// A deadline that no timer of Node can hold counts as none. grpc-js counts a deadline in 32 bits of milliseconds, so that
// one of 30 days would end its call at once, although the call may have taken effect.

import type { IncomingHttpHeaders } from "node:http2";
import { DEADLINE_MS_MAX } from "./grpc-bounds.ts";

const HEADER = "grpc-timeout";
/** As grpc-js reads it. */
const FORM = /(\d{1,8})\s*([HMSmun])/;
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Removes the header of such a deadline. Must run before grpc-js reads the headers. */
export function forgetLongDeadline(headers: IncomingHttpHeaders): void {
  const said = headers[HEADER];
  if (said === undefined) return;
  const [, amount, unit = ""] = FORM.exec(String(said)) ?? [];
  if (amount !== undefined && Number(amount) * (UNIT_MS[unit] as number) > DEADLINE_MS_MAX)
    delete headers[HEADER];
}
