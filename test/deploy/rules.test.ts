// What the rules and the dashboard's first tables find in made-up series, by promtool: cases that a real database server
// takes hours for, or needs a cluster for. promtool also checks the files for Prometheus.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { rules } from "../support/prometheus.ts";

const deploy = join(import.meta.dirname, "../../deploy");
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
const NEEDS_PROMTOOL = hasPromtool ? "" : " (left out: promtool is not installed)";

function promtool(...args: string[]): void {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  expect(status, `${stdout}${stderr}`).toBe(0);
}

interface Series {
  readonly series: string;
  /** In promtool's notation, a value a minute: `1x600` is 1 and 600 more of it. */
  readonly values: string;
}

/** Runs a test of promtool. */
function expectOf(input_series: readonly Series[], more: object): void {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-rules-"));
  const file = join(folder, "test.yml");
  const rule_files = [join(deploy, "alerts.yml")];
  // JSON is valid YAML.
  writeFileSync(file, JSON.stringify({ rule_files, tests: [{ interval: "1m", input_series, ...more }] }));
  try {
    promtool("test", "rules", file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!hasPromtool)(`the files for Prometheus${NEEDS_PROMTOOL}`, () => {
  test.each(["prometheus.yml", "prometheus.static.yml"])("%s is valid, with its rules", (file) => {
    promtool("check", "config", join(deploy, file));
  });
});

describe.skipIf(!hasPromtool)(`RowlockDatabaseServerUnusable${NEEDS_PROMTOOL}`, () => {
  const alertname = "RowlockDatabaseServerUnusable";
  const usable = (address: string, values: string, installation = "a", instance = "rowlock-1"): Series => ({
    series: `rowlock_database_server_usable{job="rowlock",installation="${installation}",instance="${instance}",address="${address}"}`,
    values,
  });
  /** `addresses`: at each time, those for which it fires. */
  const fires = (series: readonly Series[], addresses: Readonly<Record<string, readonly string[]>>) => {
    const expected = (address: string) => ({
      exp_labels: { severity: "warning", job: "rowlock", installation: "a", address },
      exp_annotations: {
        runbook: `docs/operations.md#${alertname.toLowerCase()}`,
        summary: `A Rowlock server cannot use the database server ${address}.`,
        description: rules().find(({ alert }) => alert === alertname)?.annotations.description,
      },
    });
    const alert_rule_test = Object.entries(addresses).map(([eval_time, each]) => ({
      eval_time,
      alertname,
      exp_alerts: each.map(expected),
    }));
    expectOf(series, { alert_rule_test });
  };

  test("fires when a node of a cluster has been unusable for five minutes, until it is usable again", () => {
    // It is unusable from 61m to 121m.
    const cluster = [usable("db-1", "1x150"), usable("db-2", "1x150"), usable("db-3", "1x60 0x60 1x30")];
    fires(cluster, { "64m": [], "67m": ["db-3"], "120m": ["db-3"], "123m": [] });
  });

  test("fires if only one server of Rowlock cannot use the node", () => {
    const [first, second] = ["rowlock-1", "rowlock-2"];
    const apart = [
      usable("db-1", "1x80", "a", first),
      usable("db-2", "1x80", "a", first),
      usable("db-1", "1x80", "a", second),
      usable("db-2", "1x60 0x20", "a", second),
    ];
    fires(apart, { "70m": ["db-2"] });
  });

  test("does not fire for replicas and secondary nodes, after a fail-over, and beside another installation", () => {
    const group = (installation: string) => [
      usable("db-1", "1x80 0x80", installation),
      // For two minutes, both servers look usable, because the looks at them are not of the same moment.
      usable("db-2", "0x78 1x82", installation),
      usable("db-3", "0x160", installation),
    ];
    fires([...group("a"), ...group("b")], { "70m": [], "90m": [], "160m": [] });
  });

  test("does not fire for an address that was never usable", () => {
    fires([usable("db-1", "1x80"), usable("db-2", "1x80"), usable("wrong", "0x80")], { "80m": [] });
  });
});

describe.skipIf(!hasPromtool)(`the alerts of jobs${NEEDS_PROMTOOL}`, () => {
  const labels = '{job="rowlock",installation="a",job_name="cron/nightly",instance="rowlock-1"}';
  const summary = (alert: string, value: string) =>
    rules()
      .find((rule) => rule.alert === alert)
      ?.annotations.summary.replace("{{ $labels.job_name }}", "cron/nightly")
      .replace("{{ $value }}", value);
  const fires = (
    alertname: string,
    severity: string,
    value: string,
    series: readonly Series[],
    at: Readonly<Record<string, boolean>>,
  ) => {
    const annotations = {
      runbook: `docs/operations.md#${alertname.toLowerCase()}`,
      summary: summary(alertname, value),
      description: rules().find(({ alert }) => alert === alertname)?.annotations.description,
    };
    const alert = {
      exp_labels: { severity, job: "rowlock", installation: "a", job_name: "cron/nightly" },
      exp_annotations: annotations,
    };
    const alert_rule_test = Object.entries(at).map(([eval_time, isFiring]) => ({
      eval_time,
      alertname,
      exp_alerts: isFiring ? [alert] : [],
    }));
    expectOf(series, { alert_rule_test });
  };

  test("one fires when the last success is older than it may be, until there is a new one", () => {
    // Within an hour; successes at 0 and at 100 minutes.
    fires(
      "RowlockJobMissed",
      "critical",
      "",
      [
        { series: `rowlock_job_last_success_timestamp_seconds${labels}`, values: "0x99 6000x60" },
        { series: `rowlock_job_ok_within_seconds${labels}`, values: "3600x160" },
      ],
      { "59m": false, "63m": true, "99m": true, "101m": false, "150m": false },
    );
  });

  test("the other one fires while the last run has failed", () => {
    const failures = [{ series: `rowlock_job_failures${labels}`, values: "0x9 2x9 0x9" }];
    fires("RowlockJobFails", "warning", "2", failures, { "5m": false, "12m": true, "25m": false });
  });
});

describe.skipIf(!hasPromtool)(`the dashboard's first row${NEEDS_PROMTOOL}`, () => {
  const { panels, annotations } = JSON.parse(
    readFileSync(join(deploy, "grafana/dashboards/rowlock.json"), "utf8"),
  ) as {
    panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
    annotations: { list: readonly { name: string; target: { expr: string } }[] };
  };
  /** As Grafana sends it for an installation and all classes. */
  const sent = (expr: string) =>
    expr
      .replaceAll("$job", "rowlock")
      .replaceAll("$installation", "a")
      .replaceAll("$class", ".*")
      .replaceAll("$__rate_interval", "90s");
  const queriesOf = (title: string) =>
    panels.find((panel) => panel.title === title)?.targets?.map(({ expr }) => sent(expr)) ?? [];
  const of = (metric: string, labels: string, values: string, installation = "a"): Series => ({
    series: `${metric}{job="rowlock",installation="${installation}",${labels}}`,
    values,
  });
  /** `found`: labels and value. */
  const finds = (
    series: readonly Series[],
    expr: string,
    eval_time: string,
    found: Readonly<Record<string, number>>,
  ) => {
    const exp_samples = Object.entries(found).map(([labels, value]) => ({ labels, value }));
    expectOf(series, { promql_expr_test: [{ expr, eval_time, exp_samples }] });
  };

  test("shows for each class how long its oldest waiter has waited, since when, and where its locks are", () => {
    const gauges = (name: string, values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([name_, each]) => of(name, `class="${name_}"`, each));
    const series = [
      ...gauges("rowlock_oldest_waiter_age_seconds", {
        "etl/*": "0x4 60 120",
        "web/*": "0x9",
        other: "30x9",
        "etl/load": "5x9",
      }),
      of("rowlock_oldest_waiter_age_seconds", 'class="etl/*"', "9000x9", "b"),
      ...gauges("rowlock_waiters", { "etl/*": "7x9", "web/*": "0x9", other: "1x9", "etl/load": "1x9" }),
      ...gauges("rowlock_held_permits", { "etl/*": "2x9", "web/*": "3x9", other: "1x9", "etl/load": "1x9" }),
      ...gauges("rowlock_limit_permits", { "etl/*": "4x9", "web/*": "3x9", other: "1x9", "etl/load": "1x9" }),
    ];
    const [longest = "", since = "", waiting = "", held = "", limit = ""] = queriesOf(
      "Who waits longest, and since when",
    );
    finds(series, longest, "6m", {
      '{class="etl/*",hash="locks?prefix=etl/"}': 120,
      '{class="other",hash="locks"}': 30,
      '{class="etl/load",hash="locks?prefix=etl/load"}': 5,
    });
    const perClass = (etl: number, other: number, load: number) => ({
      '{class="etl/*"}': etl,
      '{class="other"}': other,
      '{class="etl/load"}': load,
    });
    finds(series, since, "6m", perClass((360 - 120) * 1_000, (360 - 30) * 1_000, (360 - 5) * 1_000));
    finds(series, waiting, "6m", perClass(7, 1, 1));
    finds(series, held, "6m", perClass(2, 1, 1));
    finds(series, limit, "6m", perClass(4, 1, 1));
  });

  test("shows the pools where somebody waits", () => {
    const pools = (name: string, values: Readonly<Record<string, string>>) =>
      Object.entries(values).map(([pool, each]) => of(name, `pool="${pool}"`, each));
    const series = [
      ...pools("rowlock_pool_waiting", { "openai/*": "4x9", "idle/*": "0x9", "*": "1x9", other: "2x9" }),
      ...pools("rowlock_pool_held_permits", {
        "openai/*": "50x9",
        "idle/*": "1x9",
        "*": "9x9",
        other: "3x9",
      }),
      ...pools("rowlock_pool_limit", { "openai/*": "50x9", "idle/*": "5x9", "*": "9x9" }),
    ];
    const [waiting = "", taken = "", limit = ""] = queriesOf("Pools where somebody waits");
    finds(series, waiting, "5m", {
      '{hash="locks?prefix=openai/",pool="openai/*"}': 4,
      '{hash="locks?prefix=",pool="*"}': 1,
      '{hash="limits",pool="other"}': 2,
    });
    finds(series, taken, "5m", { '{pool="openai/*"}': 50, '{pool="*"}': 9, '{pool="other"}': 3 });
    finds(series, limit, "5m", { '{pool="openai/*"}': 50, '{pool="*"}': 9 });
  });

  test("shows the share of requests that waited, also while none has, or none was granted at once", () => {
    const queued = (values: string) => of("rowlock_enqueued_total", 'class="etl/*"', values);
    const answered = (outcome: string, values: string) =>
      of("rowlock_acquires_total", `class="etl/*",mode="permit",outcome="${outcome}"`, values);
    const refused = answered("not_free", "0+50x20");
    const [share = ""] = queriesOf("Requests that had to wait, last 5 minutes");
    finds([queued("0+2x20"), answered("granted", "0+6x20"), refused], share, "15m", { "{}": 0.25 });
    finds([queued("0x20"), answered("granted", "0+6x20"), refused], share, "15m", { "{}": 0 });
    finds([queued("0+2x20"), refused], share, "15m", { "{}": 1 });
  });

  test("marks a change of a limit and a fail-over when they happen, also one before the first scrape", () => {
    /** 1 while it is marked. */
    const marked = (title: string) => {
      const expr = annotations.list.find(({ name }) => name === title)?.target.expr ?? "";
      return `(${sent(expr)}) > bool 0`;
    };
    const changes = [of("rowlock_limit_changes_total", 'instance="rowlock-1",target="pool"', "3x4 4x9")];
    finds(changes, marked("Limit changes"), "4m", {});
    finds(changes, marked("Limit changes"), "5m", { '{target="pool"}': 1 });
    finds(changes, marked("Limit changes"), "9m", {});
    const noticed = (values: string) => [of("rowlock_fail_overs_total", 'instance="rowlock-1"', values)];
    const title = "Fail-overs of the database";
    finds(noticed("0x4 1x9"), marked(title), "4m", {});
    for (const values of ["0x4 1x9", "_x5 1x9"]) {
      finds(noticed(values), marked(title), "5m", { "{}": 1 });
      finds(noticed(values), marked(title), "9m", {});
    }
  });
});
