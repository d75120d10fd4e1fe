// Draws the rates as a chart: for each work a group of bars, one for each system. Each group has its own scale, and a
// line across the end of a bar shows the range of the rounds.

import type { Sample } from "./sample.ts";
import { median } from "./table.ts";

const BAR = 14;
const GAP = 4;
const GROUP_GAP = 34;
const LEFT = 170;
const WIDTH = 460;
const RIGHT = 150;
const COLOURS: readonly (readonly [start: string, colour: string])[] = [
  ["rowlock", "#2f6fb2"],
  ["nothing", "#b8b8b8"],
  ["", "#d08a3c"],
];

/** An SVG that needs no fonts or styles. Systems without a rate for a work are left out of its group. */
export function chart(samples: readonly Sample[], systems: readonly string[]): string {
  const parts: string[] = [];
  let y = 0;
  for (const work of new Set(samples.map((sample) => sample.work))) {
    const bars = systems.flatMap((system) => {
      const rates = samples.flatMap((sample) =>
        sample.work === work && sample.system === system ? (sample.perSecond ?? []) : [],
      );
      return rates.length > 0 ? [{ system, rates: rates.toSorted((a, b) => a - b) }] : [];
    });
    if (bars.length === 0) continue;
    y += GROUP_GAP;
    parts.push(`<text x="0" y="${y - 8}" font-weight="bold">${escaped(work)}, per second</text>`);
    const most = Math.max(...bars.flatMap(({ rates }) => rates));
    for (const { system, rates } of bars) {
      parts.push(bar(system, rates, most, y));
      y += BAR + GAP;
    }
  }
  const [width, height] = [LEFT + WIDTH + RIGHT, y + GAP];
  const root = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const title = "<title>What each system did in a second, work by work</title>";
  const paper = `<rect width="100%" height="100%" fill="#ffffff"/>`;
  return `${root} font-family="sans-serif" font-size="12" fill="#222222">\n${[title, paper, ...parts].join("\n")}\n</svg>\n`;
}

function bar(system: string, rates: readonly number[], most: number, y: number): string {
  const x = (rate: number) => Math.round(LEFT + (rate / most) * WIDTH);
  const middle = median(rates);
  const colour = COLOURS.find(([start]) => system.startsWith(start))?.[1];
  const centre = y + BAR / 2;
  return [
    `<text x="${LEFT - 8}" y="${y + 11}" text-anchor="end">${escaped(system)}</text>`,
    `<rect x="${LEFT}" y="${y}" width="${x(middle) - LEFT}" height="${BAR}" fill="${colour}"/>`,
    `<line x1="${x(rates[0] as number)}" x2="${x(rates.at(-1) as number)}" y1="${centre}" y2="${centre}" stroke="#222222"/>`,
    `<text x="${LEFT + WIDTH + 8}" y="${y + 11}">${Math.round(middle).toLocaleString("en")}</text>`,
  ].join("\n");
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
