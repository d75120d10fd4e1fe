// Where the marks of a time axis stand, in a terminal and on the page.

const S = 1_000;
export const MIN_MS = 60 * S;
const H = 60 * MIN_MS;
export const DAY_MS = 24 * H;
/** The times between two marks. */
const STEPS_MS = [S, 2 * S, 5 * S, 10 * S, 15 * S, 30 * S]
  .concat([MIN_MS, 2 * MIN_MS, 5 * MIN_MS, 10 * MIN_MS, 15 * MIN_MS, 30 * MIN_MS])
  .concat([H, 2 * H, 3 * H, 6 * H, 12 * H])
  .concat([DAY_MS, 2 * DAY_MS, 5 * DAY_MS, 10 * DAY_MS, 30 * DAY_MS, 100 * DAY_MS, 365 * DAY_MS]);

/** The shortest time between two marks that is wide enough; if none is, the longest. */
export function stepOf(isWideEnough: (stepMs: number) => boolean): number {
  return STEPS_MS.find(isWideEnough) ?? (STEPS_MS.at(-1) as number);
}

/** The times of the marks, which are round in the local zone. */
export function roundTimes(fromMs: number, untilMs: number, stepMs: number): number[] {
  const zoneMs = new Date(fromMs).getTimezoneOffset() * MIN_MS;
  const times: number[] = [];
  for (let ms = Math.ceil((fromMs - zoneMs) / stepMs) * stepMs + zoneMs; ms <= untilMs; ms += stepMs)
    times.push(ms);
  return times;
}
