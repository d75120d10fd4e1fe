// A chart of a few lines over time, drawn by uPlot. Its legend gives the values under the cursor, or else the last ones,
// so the chart says as much without its picture.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import UPlot from "uplot";
import { useStore } from "./store.ts";
import { colours } from "./theme.ts";
import { clock, clockWords } from "./words.ts";

export interface Line {
  readonly words: string;
  /** The custom property of the style sheet. */
  readonly colour: string;
  readonly values: readonly (number | null)[];
}

export interface LineChartProps {
  readonly title: string;
  readonly write: (value: number) => string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  /** Charts with the same one move their cursors together. */
  readonly together: string;
}

const HEIGHT = 170;

export function LineChart({ title, write, times, lines, together }: LineChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const palette = useStore(colours);
  const data = useMemo(
    () => [times, ...lines.map(({ values }) => values)] as unknown as UPlot.AlignedData,
    [times, lines],
  );
  const latest = useRef(data);
  latest.current = data;
  // A chart is made anew for other colours only.
  useLayoutEffect(() => {
    const element = box.current as HTMLDivElement;
    const style = getComputedStyle(element);
    const colour = (name: string) => resolved(element, name);
    const axis = {
      stroke: colour("--dim"),
      grid: { stroke: colour("--rule"), width: 1 },
      ticks: { show: false },
      font: `11px ${style.fontFamily}`,
    };
    const made = new UPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { sync: { key: together }, points: { size: 6 }, drag: { x: false, y: false }, y: false },
        padding: [10, 18, 0, 0],
        scales: { y: { range: (_, __, most) => [0, Math.max(1, (most ?? 1) * 1.1)] } },
        axes: [
          {
            ...axis,
            values: (_, ticks) => ticks.map((tick) => clock(new Date(tick * 1_000)).slice(0, 5)),
            size: 28,
            space: 70,
          },
          {
            ...axis,
            values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : write(tick))),
            size: 60,
            space: 36,
          },
        ],
        series: [
          {},
          ...lines.map((line, index) => ({
            label: line.words,
            stroke: colour(line.colour),
            width: 1.75,
            points: { show: false },
            ...(index === 0
              ? { fill: `${colour(line.colour).replace("rgb", "rgba").replace(")", ", 0.12)")}` }
              : {}),
          })),
        ],
        hooks: { setCursor: [({ cursor }) => setAt(cursor.idx ?? null)] },
      },
      latest.current,
      element,
    );
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
    };
  }, [palette]);
  useEffect(() => plot.current?.setData(data), [data]);
  const index = at ?? times.length - 1;
  return (
    <section class="panel chart">
      <h2>{title}</h2>
      <p class="legend">
        {lines.map(({ words, colour, values }) => (
          <span key={words}>
            <svg width="14" height="10" aria-hidden="true">
              <line x1="0" x2="14" y1="5" y2="5" stroke={`var(${colour})`} stroke-width="3" />
            </svg>
            {words} <strong>{typeof values[index] === "number" ? write(values[index]) : "none"}</strong>
          </span>
        ))}
        <span class="dim">{at === null ? "now" : `at ${clockWords((times[index] ?? 0) * 1_000)}`}</span>
      </p>
      <div ref={box} class="plot" aria-hidden="true" />
    </section>
  );
}

/** A colour of the style sheet as a canvas takes it. */
function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
