// A real Prometheus over a test's servers, with the rules of deploy/alerts.yml sped up: all their times, and all
// thresholds in seconds, are divided, because a test cannot wait for minutes.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { freePort, stopProcess } from "./mysql-family/private-server.ts";
import { until } from "./until.ts";

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly annotations: { readonly summary: string; readonly description: string };
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const POLL_MS = 100;
const WINDOW_MS_MIN = 15_000;

export const hasPrometheus: boolean = spawnSync("prometheus", ["--version"]).status === 0;
/** For test titles: why the tests are skipped, if they are. */
export const NEEDS_PROMETHEUS = hasPrometheus ? "" : " (left out: prometheus is not installed)";

export interface RangeSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [atS: number, value: number])[];
}

export interface Prometheus {
  /** Names of alerts that are in this state now. */
  alerts(state: "firing" | "pending"): Promise<string[]>;
  /** Names of alerts that have fired at any time. */
  haveFired(): Promise<string[]>;
  /** What a query returns at each step of a time; all times are seconds. */
  range(query: string, from: number, to: number, step: number): Promise<RangeSeries[]>;
  stop(): Promise<void>;
}

export function rules(): Rule[] {
  const file = new URL("../../deploy/alerts.yml", import.meta.url);
  const { groups } = parse(readFileSync(file, "utf8")) as { groups: { rules: Rule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/**
 * The rules with all times divided. A window stays longer than calls take to fail, because calls of one moment fail
 * together.
 */
function quicker(divisor: number): Rule[] {
  const scaled = (text: string, msMin = 0) =>
    text.replace(/(\d+)([smhd])/, (_, count, unit) => {
      const ms = (Number(count) * (UNIT_MS[unit] as number)) / divisor;
      return `${Math.ceil(Math.max(ms, msMin))}ms`;
    });
  return rules().map((rule) => ({
    ...rule,
    for: scaled(rule.for),
    expr: rule.expr
      .replace(/\[\d+[smhd](?=[:\]])/g, (window) => scaled(window, WINDOW_MS_MIN))
      .replace(/:\d+[smhd]\]/g, (step) => scaled(step))
      .replace(/offset \d+[smhd]/g, (offset) => scaled(offset))
      .replace(
        /(rowlock_(?:oldest_waiter_age|history_overdue)_seconds\) > )(\d+)/,
        (_, what, seconds) => what + Number(seconds) / divisor,
      ),
  }));
}

/** `targets`: host and port of each server's metrics. */
export async function startPrometheus(
  targets: readonly string[],
  divisor: number,
  scrapeMs: number,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-prometheus-"));
  const every = `${scrapeMs}ms`;
  // JSON is valid YAML.
  writeFileSync(
    join(folder, "rules.yml"),
    JSON.stringify({ groups: [{ name: "rowlock", rules: quicker(divisor) }] }),
  );
  writeFileSync(
    join(folder, "prometheus.yml"),
    JSON.stringify({
      global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: every },
      rule_files: ["rules.yml"],
      scrape_configs: [{ job_name: "rowlock", static_configs: [{ targets }] }],
    }),
  );
  const port = await freePort();
  let log = "";
  const child: ChildProcess = spawn(
    "prometheus",
    [
      `--config.file=${join(folder, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  child.stderr?.on("data", (chunk) => {
    log += chunk;
  });
  const range: Prometheus["range"] = async (query, from, to, step) => {
    const asked = new URLSearchParams({ query, start: `${from}`, end: `${to}`, step: `${step}` });
    const answer = (await (await fetch(`http://127.0.0.1:${port}/api/v1/query_range?${asked}`)).json()) as {
      readonly error?: string;
      readonly data?: { result: { metric: Record<string, string>; values: [number, string][] }[] };
    };
    if (!answer.data) throw new Error(`${query}: ${answer.error}`);
    return answer.data.result.map(({ metric, values }) => ({
      labels: metric,
      points: values.map(([at, value]) => [at, Number(value)] as const),
    }));
  };
  const query = async (text: string): Promise<Record<string, string>[]> => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(text)}`;
    const answer = (await (await fetch(url)).json()) as {
      data: { result: { metric: Record<string, string> }[] };
    };
    return answer.data.result.map(({ metric }) => metric);
  };
  const names = async (text: string) => [
    ...new Set((await query(text)).map(({ alertname = "" }) => alertname)),
  ];
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Prometheus did not start:\n${log}`);
    await sleep(POLL_MS);
    const ready = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null);
    // Prometheus takes some seconds to load its targets.
    return ready?.ok === true && (await query("up == 1")).length === targets.length;
  });
  return {
    alerts: (state) => names(`ALERTS{alertstate="${state}"}`),
    haveFired: () => names('count_over_time(ALERTS{alertstate="firing"}[1h])'),
    range,
    async stop() {
      await stopProcess(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
