// The Grafana dashboard and the alerts use only metrics and labels that a server or its scrape has, and show all of them.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Claim } from "../../server/core/claim.ts";
import { poolName } from "../../server/core/pools.ts";
import { Metrics, type StoreSource } from "../../server/metrics/metrics.ts";
import { ACQUIRE, CLAIM, FREE_LOCK } from "../support/claims.ts";

interface Link {
  readonly title: string;
  readonly url: string;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
  readonly links?: readonly Link[];
  readonly fieldConfig?: {
    readonly overrides: readonly {
      readonly properties: readonly { readonly id: string; readonly value: unknown }[];
    }[];
  };
}

const file = new URL("../../deploy/grafana/dashboards/rowlock.json", import.meta.url);
const dashboard = JSON.parse(readFileSync(file, "utf8")) as {
  readonly links: readonly Link[];
  readonly panels: readonly Panel[];
  readonly annotations: {
    readonly list: readonly { readonly name: string; readonly target: { readonly expr: string } }[];
  };
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string | { readonly query: string } }[];
  };
};
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook: string };
}

const { groups } = parse(readFileSync(new URL("../../deploy/alerts.yml", import.meta.url), "utf8")) as {
  readonly groups: readonly { readonly rules: readonly Alert[] }[];
};
const alerts = groups.flatMap(({ rules }) => rules);

const shownExpressions = [
  ...dashboard.panels.flatMap((panel) => panel.targets ?? []).map((target) => target.expr),
  ...dashboard.annotations.list.map(({ target }) => target.expr),
  // The address of the page is a text.
  ...dashboard.templating.list.flatMap(({ query }) => (typeof query === "string" ? [] : query.query)),
];
const expressions = [...shownExpressions, ...alerts.map(({ expr }) => expr)];
const namesIn = (texts: readonly string[]) =>
  texts.flatMap((text) => text.match(/\b(rowlock|process|nodejs)_[a-z0-9_]+/g) ?? []);

function newMetrics(): Metrics {
  const metrics = new Metrics({
    classes: [],
    label: "team",
    jobs: [{ name: "cron/nightly", okWithinMs: 1 }],
    nodeMetrics: true,
  });
  const bounds = () =>
    (["room", "turns", "client"] as const).flatMap((kind) =>
      ["lanes", "commands_queued", "server_sessions", "watches"].map((bound) => ({
        bound,
        kind,
        used: 0,
        max: 3,
      })),
    );
  const replicas = async () => ({ nowUs: 0, replicas: [] });
  const historyStats = async () => ({ rows: 0, overdueUs: 0 });
  const labels = { team: "etl" };
  const pool = { ...FREE_LOCK, name: poolName("openai/"), limit: 50, heldPermits: 1, holders: 1 };
  const furtherClaims = async (see: Parameters<StoreSource["furtherClaims"]>[0]) =>
    see([{ labels, state: "waiting" }]);
  const source = {
    busyLocks: async (see: Parameters<StoreSource["busyLocks"]>[0]) =>
      see([{ lock: pool, firstHolderLabels: null, oldestWaiterSinceUs: null }]),
    furtherClaims,
    limitRules: async () => [],
    find: async () => new Map(),
    views: async () => [],
    replicas,
    bounds,
    historyStats,
    servers: () => [
      { address: "db:1", isChosen: true, isUsable: true, why: null, product: "MariaDB", behindS: 0 },
    ],
  };
  metrics.observeStore(source, { version: "", node: "", database: "" });
  metrics.observeReadiness({ latest: { ready: true } });
  return metrics;
}

/** The metrics of a server where a client has only waited for a lock, got it, renewed it and released it. */
async function healthyLines(): Promise<string[]> {
  const metrics = newMetrics();
  const { engine, store, calls } = metrics;
  const lockName = "l";
  const held = { kind: "held", claim: CLAIM } as const;
  const ended: Claim = { ...CLAIM, endReason: "released" };
  const renew = { verb: "renew", ref: CLAIM, ttlUs: undefined } as const;
  engine({ kind: "answered", command: ACQUIRE, outcome: held, lockName, seconds: 0.002 });
  for (const event of [
    { kind: "enqueued", claim: CLAIM },
    { kind: "granted", claim: CLAIM, waitedUs: 1_000_000, queued: true },
    { kind: "ended", claim: ended, was: "held" },
  ] as const)
    engine({ kind: "event", event, lockName });
  engine({ kind: "answered", command: renew, outcome: held, lockName, seconds: 0.002 });
  engine({ kind: "batch", commands: 1, locks: 1 });
  engine({ kind: "checked", findings: [] });
  store.statement("lock.take", 0.0004);
  store.transaction(0.003, 2, "committed");
  calls.call("Acquire", "OK", 0.002, "call");
  calls.sessionMessage("received", 1, 100);
  calls.sessionMessage("sent", 1, 100);
  metrics.filesRead({ kind: "first", what: "certificate" });
  metrics.certificatesInForce([{ file: "certificate", end: new Date() }]);
  calls.sessionClosed("OK", 60);
  return (await metrics.render()).text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

function seriesOf(line: string) {
  const [, name = "", labels = ""] = /^([a-z0-9_]+)(?:\{(.*)\})? /.exec(line) ?? [];
  const pairs = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]);
  return { name, labels: Object.fromEntries(pairs) as Record<string, string> };
}

/** Matches a label as PromQL does. */
function selects(has: string, operator = "", value = ""): boolean {
  if (operator === "=~") return new RegExp(`^(?:${value})$`).test(has);
  return (has === value) === (operator === "=");
}

/** The names of a server's metric families, with the suffixes of its histograms. */
async function servedNames(): Promise<Set<string>> {
  const metrics = newMetrics();
  const names = new Set<string>();
  for (const [, name, type] of (await metrics.render()).text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    if (type !== "histogram") names.add(name as string);
    else for (const suffix of ["bucket", "sum", "count"]) names.add(`${name}_${suffix}`);
  }
  return names;
}

describe("the dashboard and the alerts", () => {
  test("ask only for metrics that exist", async () => {
    const served = await servedNames();
    for (const name of namesIn(expressions)) expect(served, name).toContain(name);
  });

  test("group and select by labels that exist", () => {
    const grouped = expressions.flatMap((text) =>
      [...text.matchAll(/by \(([^)]*)\)/g)].map((match) => match[1]),
    );
    const selected = expressions.flatMap((text) =>
      [...text.matchAll(/[{,]([a-z_]+)(?:=~|!=|=)/g)].map((m) => m[1]),
    );
    const labels = new Set([...grouped.flatMap((list) => list?.split(/, ?/) ?? []), ...selected]);
    const ours = "class outcome mode reason queued cause statement event change method code verb loop";
    const more =
      "target le instance job installation job_name direction file bound kind check value what address pool";
    for (const label of labels) expect(`${ours} ${more}`.split(" ")).toContain(label);
  });
});

describe("the alerts", () => {
  test("state the severity, the fault and the remedy, with labels that the expression keeps", () => {
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    for (const { alert, expr, labels, annotations, ...more } of alerts) {
      expect(alert).toMatch(/^Rowlock[A-Z]/);
      expect(more.for).toMatch(/^\d+[sm]$/);
      expect(["critical", "warning"]).toContain(labels.severity);
      expect(annotations.summary, alert).not.toBe("");
      expect(annotations.description.length, alert).toBeGreaterThan(annotations.summary.length);
      const written = `${annotations.summary} ${annotations.description}`;
      for (const [, label] of written.matchAll(/\$labels\.(\w+)/g)) {
        const kept = /by \(/.test(expr)
          ? new RegExp(`by \\([^)]*\\b${label}\\b`).test(expr)
          : label === "instance";
        expect(kept, `${alert}: ${label}`).toBe(true);
      }
    }
  });
});

describe("the runbook", () => {
  const operations = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const entries = new Map(
    operations
      .split(/^### /m)
      .slice(1)
      .map((entry) => [entry.split("\n")[0] as string, entry.split(/^## /m)[0] as string]),
  );

  test("has an entry for each alert, which the alert names, and for nothing else", () => {
    for (const { alert, annotations } of alerts)
      expect(annotations.runbook).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    const known = alerts.map(({ alert }) => alert);
    expect([...entries.keys()].filter((title) => title.startsWith("Rowlock"))).toEqual(known);
  });

  test("says of each alert what it means, what to look at and what to do", () => {
    for (const { alert } of alerts) {
      const entry = entries.get(alert) ?? "";
      for (const part of ["It means", "Look at", "Do"])
        expect(entry, alert).toMatch(new RegExp(`^\\*\\*${part}:\\*\\* \\S`, "m"));
    }
  });
});

describe("the dashboard", () => {
  test("has variables for the scrape job and the installation, which each of its queries selects by", () => {
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual([
      "job",
      "installation",
      "class",
      "page",
    ]);
    const asked = shownExpressions.filter((expr) => !expr.startsWith("label_values(rowlock_build_info"));
    for (const expr of asked) {
      const metrics = expr.match(/\b(?:(?:rowlock|process|nodejs)_[a-z0-9_]+|up\b)\{?/g) ?? [];
      const selected = expr.split('{job=~"$job",installation=~"$installation"');
      expect(selected.length - 1, expr).toBe(metrics.length);
    }
  });

  test("has something to show in each panel while nothing fails", async () => {
    const served = (await healthyLines()).map(seriesOf);
    for (const expr of shownExpressions) {
      for (const [, name, matchers = ""] of expr.matchAll(
        /\b((?:rowlock|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g,
      )) {
        const wanted = [...matchers.matchAll(/(\w+)(=~|!=|=)"([^"]*)"/g)].filter(
          ([, , , value]) => !value?.startsWith("$"),
        );
        const shown = served.filter(
          (series) =>
            series.name === name &&
            wanted.every(([, label, operator, value]) =>
              selects(series.labels[label as string] ?? "", operator, value),
            ),
        );
        expect(shown, expr).not.toEqual([]);
      }
    }
  });

  test("begins with who waits too long", () => {
    const [row, ...panels] = dashboard.panels;
    expect(row?.title).toBe("Does anybody wait too long?");
    expect(panels.slice(0, 4).map(({ title }) => title)).toEqual([
      "Wait until the grant, p95, last 5 minutes",
      "Requests that had to wait, last 5 minutes",
      "Who waits longest, and since when",
      "Pools where somebody waits",
    ]);
  });

  test("marks changes of limits, fail-overs and moves in all panels", () => {
    const marked = dashboard.annotations.list.map(({ target }) => [...new Set(namesIn([target.expr]))]);
    expect(marked).toEqual([
      ["rowlock_limit_changes_total"],
      ["rowlock_fail_overs_total"],
      ["rowlock_database_moves_total"],
    ]);
  });

  test("leads to views that the page has", () => {
    const overrides = dashboard.panels.flatMap(({ fieldConfig }) => fieldConfig?.overrides ?? []);
    const cells = overrides
      .flatMap(({ properties }) => properties)
      .flatMap(({ id, value }) => (id === "links" ? (value as Link[]) : []));
    // The hash of a cell is a label that its query makes.
    const made = shownExpressions.flatMap((expr) =>
      [...expr.matchAll(/"hash", "([^"]*)"/g)].map(([, hash]) => `\${page:raw}/#/${hash}`),
    );
    for (const { url } of cells) expect(url).toBe(`\${page:raw}/#/\${__data.fields.hash:raw}`);
    const links = [...dashboard.links, ...dashboard.panels.flatMap((panel) => panel.links ?? [])];
    const route = readFileSync(new URL("../../clients/page/src/route.ts", import.meta.url), "utf8");
    const [, views = ""] = /VIEWS: readonly View\[\] = \[(.*)\]/.exec(route) ?? [];
    expect(cells.length).toBeGreaterThan(0);
    for (const url of [...links.map((link) => link.url), ...made]) {
      const [, view] = /^\$\{page:raw\}\/#\/(\w+)(?:\?prefix=\$1)?$/.exec(url) ?? [];
      expect(views, url).toContain(`"${view}"`);
    }
  });

  test("shows all our metrics", async () => {
    const family = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
    const ours = [...(await servedNames())].filter((name) => name.startsWith("rowlock_")).map(family);
    const shown = new Set(namesIn(shownExpressions).map(family));
    expect(ours.filter((name) => !shown.has(name))).toEqual([]);
  });
});
