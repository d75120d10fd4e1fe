// Draws the Grafana dashboard as an SVG: its own panels at their places, each with the answers of Prometheus to its own
// queries. Not Grafana's look, but what it shows.

import { escaped } from "../../bench/chart.ts";
import type { RangeSeries } from "../../test/support/prometheus.ts";

interface Target {
  readonly expr: string;
  readonly legendFormat?: string;
}

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string } };
}

export interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Seconds that a rate looks back: enough for several scrapes. */
export const RATE_INTERVAL_S = 10;
const CELL = { width: 50, height: 30 };
const GAP = 6;
const TITLE = 20;
const HEADING_SIZES: Readonly<Record<string, number>> = { row: 14, stat: 8 };
const LEGEND_LINE = 13;
const LEGEND_MAX = 4;
const COLOURS = ["#3274d9", "#e0752d", "#3f9c35", "#a352cc", "#c4162a", "#19a3a3", "#8f6b00", "#8a8a8a"];
/** The rows of the dashboard that the picture shows; the others are for those who run the servers. */
const ROWS_SHOWN = ["Now", "Contention", "Claims"];

/** `ask` returns the series of a query over the time of the picture. */
export async function drawDashboard(
  { title, panels }: Dashboard,
  ask: (query: string) => Promise<readonly RangeSeries[]>,
): Promise<string> {
  const parts: string[] = [];
  let height = 0;
  let top: number | null = null;
  let isShown = false;
  for (const panel of panels) {
    if (panel.type === "row") isShown = ROWS_SHOWN.includes(panel.title);
    if (!isShown) continue;
    const { x, w, h } = panel.gridPos;
    top ??= panel.gridPos.y;
    const y = panel.gridPos.y - top;
    height = Math.max(height, (y + h) * CELL.height);
    const box = { width: w * CELL.width - GAP, height: h * CELL.height - GAP };
    const at = `<g transform="translate(${x * CELL.width + GAP},${y * CELL.height + GAP})">`;
    parts.push(`${at}${await drawPanel(panel, box, ask)}</g>`);
  }
  const width = 24 * CELL.width + GAP;
  const root = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + GAP}" width="${width}" height="${height + GAP}"`;
  const paper = `<title>${escaped(title)}, from a real run</title><rect width="100%" height="100%" fill="#f4f5f5"/>`;
  return `${root} font-family="sans-serif" font-size="11" fill="#222222">\n${[paper, ...parts].join("\n")}\n</svg>\n`;
}

interface Box {
  readonly width: number;
  readonly height: number;
}

async function drawPanel(
  { type, title, targets = [], fieldConfig }: Panel,
  box: Box,
  ask: (query: string) => Promise<readonly RangeSeries[]>,
): Promise<string> {
  const heading = (dy: number) =>
    `<text x="8" y="${dy}" font-weight="bold" font-size="${HEADING_SIZES[type] ?? 11}">${escaped(title)}</text>`;
  if (type === "row") return heading(18);
  const unit = fieldConfig?.defaults?.unit ?? "none";
  const paper = `<rect width="${box.width}" height="${box.height}" rx="3" fill="#ffffff" stroke="#d8d9da"/>`;
  const answers = await Promise.all(
    targets.map(async ({ expr, legendFormat = "" }) =>
      (await ask(inForce(expr))).map((series) => ({ ...series, name: nameOf(legendFormat, series) })),
    ),
  );
  const all = answers.flat().filter(({ points }) => points.some(([, value]) => Number.isFinite(value)));
  const busy = all.filter(({ points }) => points.some(([, value]) => value > 0));
  const lines = busy.length > 0 ? busy : all;
  const content = type === "stat" ? drawNumber(lines, unit, box) : drawLines(lines, unit, box);
  return paper + heading(15) + content;
}

/** The query as Grafana sends it, of all servers that Prometheus scrapes and all classes. */
function inForce(expr: string): string {
  return expr
    .replaceAll("$__rate_interval", `${RATE_INTERVAL_S}s`)
    .replace(/\$(job|installation|class)\b/g, ".*");
}

function nameOf(format: string, { labels }: RangeSeries): string {
  return format.replace(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? "");
}

type Line = RangeSeries & { readonly name: string };

function drawNumber(lines: readonly Line[], unit: string, { width, height }: Box): string {
  const last = lines.map(({ points }) => text(points.at(-1)?.[1] ?? 0, unit)).join(" / ");
  return `<text x="${width / 2}" y="${height / 2 + 22}" font-size="26" text-anchor="middle" fill="${COLOURS[2]}">${escaped(last === "" ? "0" : last)}</text>`;
}

function drawLines(lines: readonly Line[], unit: string, { width, height }: Box): string {
  const shown = lines.slice(0, COLOURS.length);
  const legendLines = Math.min(LEGEND_MAX, Math.ceil(shown.length / 2));
  const plot = {
    left: 44,
    top: TITLE + 6,
    right: width - 10,
    bottom: height - 10 - legendLines * LEGEND_LINE,
  };
  const values = shown.flatMap(({ points }) => points.map(([, value]) => value)).filter(Number.isFinite);
  if (values.length === 0)
    return `<text x="${width / 2}" y="${height / 2}" text-anchor="middle" fill="#8a8a8a">nothing in this run</text>`;
  const times = shown.flatMap(({ points }) => points.map(([at]) => at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const most = roundUp(Math.max(...values));
  const x = (at: number) => plot.left + ((at - first) / Math.max(1, last - first)) * (plot.right - plot.left);
  const y = (value: number) => plot.bottom - (value / most) * (plot.bottom - plot.top);
  const grid = [0, 0.5, 1].map(
    (share) =>
      `<line x1="${plot.left}" x2="${plot.right}" y1="${y(most * share)}" y2="${y(most * share)}" stroke="#e5e6e7"/>` +
      `<text x="${plot.left - 5}" y="${y(most * share) + 4}" text-anchor="end" fill="#6e6e6e" font-size="10">${text(most * share, unit)}</text>`,
  );
  const curves = shown.map(({ points }, nth) => {
    const drawn = points.filter(([, value]) => Number.isFinite(value));
    const path = drawn.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    return `<polyline points="${path}" fill="none" stroke="${COLOURS[nth]}" stroke-width="1.4"/>`;
  });
  const legend = shown.slice(0, LEGEND_MAX * 2).map(({ name }, nth) => {
    const [left, top] = [
      12 + (nth % 2) * (width / 2),
      plot.bottom + 10 + (Math.floor(nth / 2) + 0.6) * LEGEND_LINE,
    ];
    return `<rect x="${left}" y="${top - 6}" width="10" height="3" fill="${COLOURS[nth]}"/><text x="${left + 14}" y="${top}" font-size="10">${escaped(name)}</text>`;
  });
  return [...grid, ...curves, ...legend].join("");
}

/** The next of 1, 2 and 5 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) as number) * power;
}

function text(value: number, unit: string): string {
  if (unit === "s") {
    if (value >= 1) return `${short(value)} s`;
    return value === 0 ? "0" : `${short(value * 1_000)} ms`;
  }
  return short(value);
}

function short(value: number): string {
  return String(Number(value.toPrecision(value >= 100 ? 3 : 2)));
}
