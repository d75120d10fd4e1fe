// How a lock is held, by the words of this package.

import { Mode as ProtoMode } from "#proto/rowlock/v1/lock_pb.js";

/** Counted permits (a mutex where the limit is 1), one of many readers, or the only writer. */
export type Mode = "permit" | "shared" | "exclusive";

const MODES: Readonly<Record<Mode, ProtoMode>> = {
  permit: ProtoMode.PERMIT,
  shared: ProtoMode.SHARED,
  exclusive: ProtoMode.EXCLUSIVE,
};

/** Throws a RangeError for what is no mode: callers in JavaScript have no types. */
export function protoMode(mode: Mode): ProtoMode {
  if (!Object.hasOwn(MODES, mode)) {
    const modes = Object.keys(MODES).map((each) => JSON.stringify(each));
    throw new RangeError(`mode: ${JSON.stringify(mode)} is none of ${modes.join(", ")}`);
  }
  return MODES[mode];
}

export function modeOf(mode: ProtoMode): Mode {
  if (mode === ProtoMode.SHARED) return "shared";
  return mode === ProtoMode.EXCLUSIVE ? "exclusive" : "permit";
}
