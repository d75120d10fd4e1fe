// The Grafana dashboard asks only for metrics and labels that a server has, and its panels do not overlap.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Metrics } from "../../server/metrics/metrics.ts";

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}

const file = new URL("../../deploy/grafana/dashboards/rowlock.json", import.meta.url);
const dashboard = JSON.parse(readFileSync(file, "utf8")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: { readonly query: string } }[] };
};
const expressions = [
  ...dashboard.panels.flatMap((panel) => panel.targets ?? []).map((target) => target.expr),
  ...dashboard.templating.list.map((variable) => variable.query.query),
];

/** Names of the families that a server has, with the suffixes of its histograms. */
async function servedNames(): Promise<Set<string>> {
  const metrics = new Metrics({ classes: [], nodeMetrics: true });
  const pool = () => ({ open: 0, idle: 0, waiting: 0 });
  const source = { busyLocks: async () => [], limitRules: async () => [], pool };
  metrics.observeStore(source, { version: "", node: "", database: "" });
  const names = new Set<string>();
  for (const [, name, type] of (await metrics.render()).matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (type !== "histogram") names.add(name as string);
    else for (const suffix of ["bucket", "sum", "count"]) names.add(`${name}_${suffix}`);
  }
  return names;
}

describe("the dashboard", () => {
  test("asks only for metrics that exist, and for most of ours", async () => {
    const served = await servedNames();
    const asked = new Set(
      expressions.flatMap((text) => text.match(/\b(rowlock|process|nodejs)_[a-z0-9_]+/g) ?? []),
    );
    for (const name of asked) expect(served, name).toContain(name);
    const family = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
    const ours = new Set([...served].filter((name) => name.startsWith("rowlock_")).map(family));
    const shown = new Set([...asked].map(family));
    expect([...ours].filter((name) => !shown.has(name))).toEqual([]);
  });

  test("groups and selects by labels that exist", () => {
    const grouped = expressions.flatMap((text) =>
      [...text.matchAll(/by \(([^)]*)\)/g)].map((match) => match[1]),
    );
    const selected = expressions.flatMap((text) =>
      [...text.matchAll(/[{,]([a-z_]+)(?:=~|!=|=)/g)].map((m) => m[1]),
    );
    const labels = new Set([...grouped.flatMap((list) => list?.split(/, ?/) ?? []), ...selected]);
    const ours = ["class", "outcome", "mode", "reason", "queued", "state", "cause", "statement", "event"];
    const more = ["method", "code", "verb", "loop", "target", "le", "instance", "job"];
    for (const label of labels) expect([...ours, ...more]).toContain(label);
  });

  test("has balanced expressions, and a legend only of labels that are grouped by", () => {
    for (const { title, targets = [] } of dashboard.panels) {
      for (const { expr, legendFormat = "" } of targets) {
        expect(expr.split("(").length, expr).toBe(expr.split(")").length);
        for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          const kept = /by \(/.test(expr)
            ? new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr)
            : label === "instance";
          expect(kept, `${title}: ${label}`).toBe(true);
        }
      }
    }
  });

  test("gives each panel an id, a place of its own and the provisioned data source", () => {
    const taken = new Set<string>();
    expect(new Set(dashboard.panels.map((panel) => panel.id)).size).toBe(dashboard.panels.length);
    for (const { gridPos, title, type, datasource } of dashboard.panels) {
      if (type !== "row") expect(datasource?.uid, title).toBe("prometheus");
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), title).toBe(false);
          taken.add(`${x},${y}`);
        }
      }
    }
  });
});
