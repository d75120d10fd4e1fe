// Stored codes of the core's words: small numbers that never change their meaning. New words get new numbers.

import type { ClaimState, EndReason, Mode } from "../../core/claim.ts";

export const STATE_CODES: Readonly<Record<ClaimState, number>> = { waiting: 1, held: 2, ended: 3 };
export const MODE_CODES: Readonly<Record<Mode, number>> = { permit: 1, shared: 2, exclusive: 3 };
export const END_REASON_CODES: Readonly<Record<EndReason, number>> = {
  released: 1,
  expired: 2,
  force_released: 3,
  cancelled: 4,
  lapsed: 5,
  timed_out: 6,
  never_fits: 7,
  exhausted: 8,
  status_mismatch: 9,
};

export const STATES = wordsOf(STATE_CODES);
export const MODES = wordsOf(MODE_CODES);
export const END_REASONS = wordsOf(END_REASON_CODES);

function wordsOf<Word extends string>(codes: Readonly<Record<Word, number>>): readonly Word[] {
  const words: Word[] = [];
  for (const word of Object.keys(codes) as Word[]) words[codes[word]] = word;
  return words;
}
