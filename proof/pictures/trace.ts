// Draws spans, as a collector has printed them, as an SVG: a bar for each over time, below the one that it is a part of.

import { escaped } from "../../bench/chart.ts";
import type { SeenSpan } from "../../test/support/span-tree.ts";

const ROW = 24;
const LABELS = 250;
const WIDTH = 900;
const MARGIN = 16;
const HEAD = 52;
const TICKS = 5;
/** Room for the duration behind the longest bar. */
const DURATION = 64;
const COLOURS: Readonly<Record<string, string>> = {
  queue: "#e0752d",
  transaction: "#3f9c35",
  statement: "#a352cc",
};
const CALL = "#3274d9";

interface Row {
  readonly span: SeenSpan;
  readonly depth: number;
}

/**
 * Reads what the collector's debug exporter prints with `verbosity: detailed`. What tests do not look at stays empty.
 */
export function printedSpans(log: string): SeenSpan[] {
  return log
    .split(/^Span #\d+$/m)
    .slice(1)
    .map((text) => {
      const field = (name: string) => new RegExp(`^ +${name} *: (.*)$`, "m").exec(text)?.[1] ?? "";
      const [own = "", links = ""] = text.split(/^Links:$/m);
      const attributes = [...own.matchAll(/^ +-> ([\w.]+): \w+\((.*)\)$/gm)];
      return {
        name: field("Name"),
        traceId: field("Trace ID"),
        spanId: field("ID"),
        parentId: field("Parent ID"),
        attributes: Object.fromEntries(attributes.map(([, key, value]) => [key, value])),
        links: [...links.matchAll(/^ +-> ID: (\w+)$/gm)].map(([, id]) => id as string),
        error: undefined,
        startNs: nanosOf(field("Start time")),
        endNs: nanosOf(field("End time")),
        tracestate: "",
      };
    });
}

/** `2026-11-24 16:00:00.123456789 +0000 UTC` */
function nanosOf(text: string): bigint {
  const [, seconds = "", fraction = ""] = /^(\S+ [\d:]+)(?:\.(\d+))? /.exec(text) ?? [];
  return BigInt(Date.parse(`${seconds.replace(" ", "T")}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

/** Draws the trace of this call, and below it the calls that its parts are linked to. */
export function drawTrace(title: string, call: SeenSpan, spans: readonly SeenSpan[]): string {
  const own = rowsOf(call, spans);
  const linked = own
    .flatMap(({ span }) => span.links)
    .flatMap((id) => spans.filter((one) => one.spanId === id));
  const rows = [...own, ...linked.flatMap((other) => rowsOf(other, spans))];
  const firstNs = least(rows.map(({ span }) => span.startNs));
  const lengthMs = Math.max(...rows.map(({ span }) => ms(span.endNs - firstNs)));
  const plot = { left: MARGIN + LABELS, right: WIDTH - MARGIN - DURATION };
  const x = (ns: bigint) => plot.left + (ms(ns - firstNs) / lengthMs) * (plot.right - plot.left);
  const y = (row: number) => HEAD + row * ROW;
  const height = HEAD + rows.length * ROW + MARGIN;
  const ticks = Array.from({ length: TICKS + 1 }, (_, nth) => {
    const at = plot.left + (nth / TICKS) * (plot.right - plot.left);
    return (
      `<line x1="${at}" x2="${at}" y1="${HEAD - 6}" y2="${height - MARGIN}" stroke="#e5e6e7"/>` +
      `<text x="${at}" y="${HEAD - 12}" text-anchor="middle" fill="#6e6e6e">${duration((nth / TICKS) * lengthMs)}</text>`
    );
  });
  const bars = rows.map(({ span, depth }, row) => {
    const [from, to] = [x(span.startNs), x(span.endNs)];
    const bar = `<rect x="${from.toFixed(1)}" y="${y(row) + 4}" width="${Math.max(1.5, to - from).toFixed(1)}" height="${ROW - 10}" rx="2" fill="${COLOURS[span.name] ?? CALL}"/>`;
    const label = `<text x="${MARGIN + depth * 16}" y="${y(row) + 16}">${escaped(labelOf(span))}</text>`;
    const took = `<text x="${(Math.max(from + 1.5, to) + 5).toFixed(1)}" y="${y(row) + 15}" fill="#6e6e6e">${duration(ms(span.endNs - span.startNs))}</text>`;
    return bar + label + took;
  });
  const arrows = own.flatMap(({ span }, row) =>
    span.links.map((id) => {
      const target = rows.findIndex(({ span: other }) => other.spanId === id);
      const [toX, fromX] = [x(span.endNs), x((rows[target] as Row).span.startNs)];
      const path = `M${fromX.toFixed(1)},${y(target) + 4} L${fromX.toFixed(1)},${y(row) + ROW} L${toX.toFixed(1)},${y(row) + ROW - 6}`;
      return `<path d="${path}" fill="none" stroke="#555555" stroke-dasharray="3 2" marker-end="url(#end)"/>`;
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11" fill="#222222">`,
    `<title>${escaped(title)}</title>`,
    '<defs><marker id="end" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0,0 L6,3 L0,6 z" fill="#555555"/></marker></defs>',
    `<rect width="100%" height="100%" rx="6" fill="#ffffff" stroke="#d8d9da"/>`,
    `<text x="${MARGIN}" y="20" font-weight="bold">${escaped(title)}</text>`,
    ...ticks,
    ...bars,
    ...arrows,
    "</svg>\n",
  ].join("\n");
}

/** The span and its parts, each before its own parts, in the order in which they began. */
function rowsOf(span: SeenSpan, spans: readonly SeenSpan[], depth = 0): Row[] {
  const parts = spans
    .filter(({ parentId }) => parentId === span.spanId)
    .sort((a, b) => Number(a.startNs - b.startNs));
  return [{ span, depth }, ...parts.flatMap((part) => rowsOf(part, spans, depth + 1))];
}

function labelOf({ name, attributes }: SeenSpan): string {
  const of = attributes["db.operation.name"] ?? attributes["rowlock.lock"];
  return of === undefined ? name : `${name.replace(/^.*\//, "")} ${of}`;
}

function least(values: readonly bigint[]): bigint {
  return values.reduce((a, b) => (a < b ? a : b));
}

function ms(ns: bigint): number {
  return Number(ns) / 1e6;
}

function duration(value: number): string {
  return `${Number(value.toPrecision(value >= 100 ? 3 : 2))} ms`;
}
