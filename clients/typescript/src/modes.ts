// How a lock is held, by the words of this package.

import { Mode as ProtoMode } from "#proto/rowlock/v1/lock_pb.js";

/** Counted permits (a mutex where the limit is 1), one of many readers, or the only writer. */
export type Mode = "permit" | "shared" | "exclusive";

const MODES: Readonly<Record<Mode, ProtoMode>> = {
  permit: ProtoMode.PERMIT,
  shared: ProtoMode.SHARED,
  exclusive: ProtoMode.EXCLUSIVE,
};

export function protoMode(mode: Mode): ProtoMode {
  return MODES[mode];
}

export function modeOf(mode: ProtoMode): Mode {
  if (mode === ProtoMode.SHARED) return "shared";
  return mode === ProtoMode.EXCLUSIVE ? "exclusive" : "permit";
}
