// The units in which people write durations, in milliseconds. Imports nothing: commands that must start fast use it,
// too.

export const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
