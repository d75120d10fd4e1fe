// The modes in which a lock is held, and their protocol values.

import { Mode as ProtoMode } from "#proto/rowlock/v1/lock_pb.js";

/** permit: counted permits (a mutex if the limit is 1); shared: one of many readers; exclusive: the only writer. */
export type Mode = "permit" | "shared" | "exclusive";

export const MODES: Readonly<Record<Mode, ProtoMode>> = {
  permit: ProtoMode.PERMIT,
  shared: ProtoMode.SHARED,
  exclusive: ProtoMode.EXCLUSIVE,
};

/** Throws a RangeError for an unknown mode, as callers in JavaScript have no types. */
export function protoMode(mode: Mode): ProtoMode {
  if (!Object.hasOwn(MODES, mode)) {
    const modes = Object.keys(MODES).map((each) => JSON.stringify(each));
    throw new RangeError(`mode: ${JSON.stringify(mode)} must be one of ${modes.join(", ")}`);
  }
  return MODES[mode];
}

export function modeOf(mode: ProtoMode): Mode {
  if (mode === ProtoMode.SHARED) return "shared";
  return mode === ProtoMode.EXCLUSIVE ? "exclusive" : "permit";
}
