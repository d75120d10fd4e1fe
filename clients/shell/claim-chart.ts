// A picture of one lock over time for a terminal: a row for each claim, its wait and then its lease as bars, and an axis
// with times in the zone of the terminal.

import type { ClaimView } from "../typescript/src/index.ts";
import { isLost } from "./claim-views.ts";
import { localClock, localDay, localTime } from "./past-times.ts";
import { columns, type Paint, shown } from "./print.ts";
import { DAY_MS, MIN_MS, roundTimes, stepOf } from "./time-axis.ts";

const LABEL_CHARS_MAX = 28;
const BARS_CHARS_MIN = 20;
/** A shorter time is drawn as this one, so that the axis has a time. */
const SPAN_MS_MIN = 1_000;

export interface ChartOptions {
  /** The width of the picture, in characters. */
  readonly width: number;
  readonly nowMs: number;
  /** The ends of the axis; unset: as the claims need it. */
  readonly fromMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly paint: Paint;
}

/** Draws the claims, the oldest one first. */
export function claimChart(claims: readonly ClaimView[], options: ChartOptions): string {
  const { width, nowMs, paint } = options;
  if (claims.length === 0) return "";
  const rows = [...claims].sort((one, other) => Number(one.ticketNumber - other.ticketNumber));
  const labels = rows.map(labelOf);
  const barsAt = Math.max(...labels.map(({ length }) => length)) + 1;
  const axis = axisOf(rows, Math.max(BARS_CHARS_MIN, width - barsAt), options);
  const bars = rows.map((claim, at) => `${labels[at]?.padEnd(barsAt)}${barOf(claim, axis, nowMs, paint)}`);
  const head = `${localTime(new Date(axis.fromMs))} to ${localTime(new Date(axis.untilMs))}`;
  const legend = `${WAITS} waits  ${HOLDS} holds  ${GOES_ON} goes on  ${LOST} expired or force-released`;
  const marks = marksOf(axis).map((line) => paint("dim", " ".repeat(barsAt) + line));
  return columns([[paint("bold", head)], ...[...bars, ...marks, paint("dim", legend)].map((line) => [line])]);
}

const WAITS = "░";
const HOLDS = "█";
const GOES_ON = ">";
const LOST = "x";

function labelOf({ ticketNumber, owner }: ClaimView): string {
  const label = `#${ticketNumber} ${shown(owner)}`;
  return label.length > LABEL_CHARS_MAX ? `${label.slice(0, LABEL_CHARS_MAX - 1)}…` : label;
}

interface Axis {
  readonly fromMs: number;
  readonly untilMs: number;
  /** How many characters wide it is. */
  readonly cells: number;
}

function axisOf(claims: readonly ClaimView[], cells: number, options: ChartOptions): Axis {
  const { nowMs } = options;
  const starts = claims.map((claim) => (claim.requestedAt ?? claim.grantedAt)?.getTime() ?? nowMs);
  const ends = claims.map(({ end }) => end?.endedAt?.getTime() ?? nowMs);
  const { fromMs = Math.min(...starts), untilMs = Math.max(...ends) } = options;
  return { fromMs, untilMs: Math.max(untilMs, fromMs + SPAN_MS_MIN), cells };
}

/** The character in which an instant lies; those beyond an end lie in the last one. */
function cellOf(ms: number, { fromMs, untilMs, cells }: Axis): number {
  const at = Math.floor(((ms - fromMs) / (untilMs - fromMs)) * cells);
  return Math.max(0, Math.min(cells - 1, at));
}

function barOf(claim: ClaimView, axis: Axis, nowMs: number, paint: Paint): string {
  const { requestedAt, grantedAt } = claim;
  const end = cellOf(claim.end?.endedAt?.getTime() ?? nowMs, axis);
  const start = cellOf((requestedAt ?? grantedAt)?.getTime() ?? nowMs, axis);
  const grant = grantedAt ? cellOf(grantedAt.getTime(), axis) : end;
  const wait = paint("dim", WAITS.repeat(Math.max(0, grant - start)));
  return `${" ".repeat(start)}${wait}${HOLDS.repeat(Math.max(0, end - grant))}${lastOf(claim, paint)}`;
}

/** The character in which a claim ends, or has come to. */
function lastOf(claim: ClaimView, paint: Paint): string {
  if (isLost(claim)) return paint("red", LOST);
  if (claim.state !== "ended") return paint("green", GOES_ON);
  return claim.grantedAt ? HOLDS : paint("dim", WAITS);
}

/** Two lines: marks, and the times below them. */
function marksOf(axis: Axis): [string, string] {
  const { fromMs, untilMs, cells } = axis;
  const msPerCell = (untilMs - fromMs) / cells;
  const wide = (stepMs: number) => timeAt(fromMs, stepMs).length + 2;
  const stepMs = stepOf((step) => step / msPerCell >= wide(step));
  let marks = "";
  let times = "";
  for (const ms of roundTimes(fromMs, untilMs, stepMs)) {
    const at = cellOf(ms, axis);
    const time = timeAt(ms, stepMs);
    if (at + time.length > cells) break;
    if (times !== "" && at < times.length + 2) continue;
    marks = `${marks.padEnd(at)}|`;
    times = times.padEnd(at) + time;
  }
  return [marks, times];
}

function timeAt(ms: number, stepMs: number): string {
  const date = new Date(ms);
  if (stepMs >= DAY_MS) return localDay(date);
  return stepMs >= MIN_MS ? localClock(date).slice(0, 5) : localClock(date);
}
