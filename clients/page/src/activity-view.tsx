// What this server has done in the last minutes, as charts.

import { useRef } from "preact/hooks";
import { type Activity, getActivity } from "./api.ts";
import { type Line, LineChart } from "./line-chart.tsx";
import { Trouble, useAsked } from "./parts.tsx";
import { timeWords } from "./words.ts";

const perSecond = (value: number) =>
  value === 0 ? "0/s" : `${value < 10 ? value.toFixed(1) : Math.round(value)}/s`;

interface Chart {
  readonly title: string;
  readonly write: (value: number) => string;
  readonly lines: readonly (Omit<Line, "values"> & { readonly of: keyof Activity["series"] })[];
}

const CHARTS: readonly Chart[] = [
  {
    title: "Grants",
    write: perSecond,
    lines: [
      { of: "grants", words: "all grants", colour: "--line-1" },
      { of: "handOvers", words: "hand-overs to a waiter", colour: "--line-2" },
    ],
  },
  {
    title: "How long granted requests had waited",
    write: (ms) => (ms === 0 ? "0" : timeWords(ms)),
    lines: [
      { of: "waitMsP50", words: "half of them at most", colour: "--line-1" },
      { of: "waitMsP99", words: "99 of 100 at most", colour: "--line-2" },
    ],
  },
  {
    title: "Refused and lost",
    write: perSecond,
    lines: [
      { of: "refused", words: "refused requests", colour: "--line-1" },
      { of: "lost", words: "lost leases", colour: "--line-3" },
    ],
  },
];

export function ActivityView() {
  const { value, trouble } = useAsked(getActivity, "", { everyMs: 5_000 });
  // Charts that share a key move their cursors together.
  const together = useRef(`activity-${Math.random()}`).current;
  return (
    <>
      <h1>Activity</h1>
      <p class="dim">
        The last 10 minutes of this server alone; Prometheus has all servers and longer times.
      </p>
      <Trouble text={trouble} />
      {value
        ? CHARTS.map(({ title, write, lines }) => (
            <LineChart
              key={title}
              title={title}
              write={write}
              together={together}
              times={timesOf(value)}
              lines={lines.map(({ of, ...line }) => ({ ...line, values: value.series[of] }))}
            />
          ))
        : null}
    </>
  );
}

/** In seconds, as charts want them. */
function timesOf({ stepMs, endMs, series }: Activity): number[] {
  const count = series.grants.length;
  return Array.from({ length: count }, (_, at) => (endMs - (count - 1 - at) * stepMs) / 1_000);
}
