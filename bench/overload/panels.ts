// Draws what was looked at: a small panel for each series, with its own scale from 0, and marks at the thirds.

import { escaped } from "../chart.ts";
import type { Series, Verdict } from "./level.ts";

const COLUMNS = 4;
const WIDTH = 210;
const HEIGHT = 70;
const GAP = 24;
const TITLE = 30;

/** An SVG that needs no fonts or styles. */
export function panels(all: readonly Series[], verdicts: readonly Verdict[], everyS: number): string {
  const drawn = all.map((series, index) => {
    const x = (index % COLUMNS) * (WIDTH + GAP);
    const y = Math.floor(index / COLUMNS) * (HEIGHT + TITLE + GAP);
    return `<g transform="translate(${x} ${y})">\n${panel(series, verdicts[index] as Verdict, everyS)}\n</g>`;
  });
  const width = COLUMNS * (WIDTH + GAP);
  const height = Math.ceil(all.length / COLUMNS) * (HEIGHT + TITLE + GAP);
  const root = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const paper = `<rect width="100%" height="100%" fill="#ffffff"/>`;
  const title = "<title>What a server and its database took in the course of a soak</title>";
  return `${root} font-family="sans-serif" font-size="11" fill="#222222">\n${[title, paper, ...drawn].join("\n")}\n</svg>\n`;
}

function panel({ what, unit, values, mayGrow }: Series, { isLevel }: Verdict, everyS: number): string {
  const most = Math.max(...values, 1e-9);
  const x = (index: number) => ((index / Math.max(1, values.length - 1)) * WIDTH).toFixed(1);
  const y = (value: number) => (TITLE + HEIGHT - (value / most) * HEIGHT).toFixed(1);
  const points = values.map((value, index) => `${x(index)},${y(value)}`).join(" ");
  const colour = isLevel ? "#2f6fb2" : "#c0392b";
  const last = values.at(-1) ?? 0;
  const said = mayGrow ? "not judged" : isLevel ? "level" : "grows";
  const marks = [1 / 3, 2 / 3].map(
    (share) =>
      `<line x1="${share * WIDTH}" x2="${share * WIDTH}" y1="${TITLE}" y2="${TITLE + HEIGHT}" stroke="#d8d8d8"/>`,
  );
  return [
    `<text x="0" y="11" font-weight="bold">${escaped(what.replace("rowlock_", ""))}</text>`,
    `<text x="0" y="24" fill="#666666">${shown(last)} ${unit === "count" ? "" : unit} after ${Math.round((values.length * everyS) / 60)} min, at most ${shown(most)}: ${said}</text>`,
    ...marks,
    `<line x1="0" x2="${WIDTH}" y1="${TITLE + HEIGHT}" y2="${TITLE + HEIGHT}" stroke="#888888"/>`,
    `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="1.5"/>`,
  ].join("\n");
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 10 ? 0 : 2);
}
