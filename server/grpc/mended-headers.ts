// Mends the headers of a call before anybody reads them, where Node or grpc-js would read something else than was sent.
// Refuses nothing itself.

import type { IncomingHttpHeaders } from "node:http2";
import { DEADLINE_MS_MAX } from "./grpc-bounds.ts";

const CREDENTIALS = "authorization";
const DEADLINE = "grpc-timeout";
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

/** `raw`: names and values in turn, as they came. */
export function mendHeaders(headers: IncomingHttpHeaders, raw: readonly string[] | undefined): void {
  if (raw && headers[CREDENTIALS] !== undefined) showRepeated(headers, raw);
  if (headers[DEADLINE] !== undefined) forgetLongDeadline(headers);
}

/**
 * Of headers that must not come twice, Node keeps the first and hides the others. Whoever checks credentials must see all
 * of them: a proxy in front and this server could otherwise each believe another one.
 */
function showRepeated(headers: IncomingHttpHeaders, raw: readonly string[]): void {
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2) if (raw[at] === CREDENTIALS) values.push(raw[at + 1] ?? "");
  if (values.length > 1) (headers as Record<string, string | string[]>)[CREDENTIALS] = values;
}

/**
 * A deadline that no timer of Node can hold counts as none. grpc-js counts a deadline in 32 bits of milliseconds, so that
 * one of 30 days would end its call at once, although the call may have taken effect.
 */
function forgetLongDeadline(headers: IncomingHttpHeaders): void {
  const [, amount, unit = ""] = FORM.exec(String(headers[DEADLINE])) ?? [];
  if (amount !== undefined && Number(amount) * (UNIT_MS[unit] as number) > DEADLINE_MS_MAX)
    delete headers[DEADLINE];
}
