// Makes the table: for each work and system the median of all rounds, with the range if there were several.

import type { Sample } from "./sample.ts";

const NONE = "–";

type Figure = Exclude<keyof Sample, "round" | "work" | "system" | "failure">;

const COLUMNS: readonly (readonly [heading: string, figure: Figure, digits: number])[] = [
  ["per second", "perSecond", 0],
  ["÷ etcd", "ofEtcd", 2],
  ["÷ nothing", "ofNothing", 2],
  ["server µs", "serverUs", 0],
  ["database µs", "databaseUs", 0],
  ["p50 ms", "p50Ms", 2],
  ["p99 ms", "p99Ms", 2],
  ["commands per transaction", "commandsPerTransaction", 1],
  ["round trips", "roundTripsPerTransaction", 2],
];

/** Lists works in the order in which they were done. A system's sample without figures shows dashes. */
export function table(samples: readonly Sample[], systems: readonly string[]): string {
  const headings = ["work", "system", ...COLUMNS.map(([heading]) => heading)];
  const lines = [headings, headings.map((_, index) => (index < 2 ? "---" : "--:"))];
  for (const work of new Set(samples.map((sample) => sample.work))) {
    const ofWork = samples.filter((sample) => sample.work === work);
    for (const system of systems) {
      const ofSystem = ofWork.filter((sample) => sample.system === system);
      if (ofSystem.length > 0) lines.push([work, system, ...cells(ofSystem)]);
    }
  }
  return lines.map((line) => `| ${line.join(" | ")} |\n`).join("");
}

function cells(samples: readonly Sample[]): string[] {
  const failed = samples.filter(({ failure }) => failure !== undefined).length;
  return COLUMNS.map(([, figure, digits], index) => {
    const text = medianWithRange(
      samples.flatMap((sample) => sample[figure] ?? []),
      digits,
    );
    return index === 0 && failed > 0 ? `${text}; ${failed} failed` : text;
  });
}

export function medianWithRange(figures: readonly number[], digits: number): string {
  const sorted = figures.toSorted((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return NONE;
  const text = (figure: number) =>
    figure.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  const middle = text(median(sorted));
  return sorted.length === 1 ? middle : `${middle} (${text(least)} to ${text(most)})`;
}

/** The median of at least one figure, given in ascending order. */
export function median(sorted: readonly number[]): number {
  const half = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(half)] as number) + (sorted[Math.ceil(half)] as number)) / 2;
}
