// What a server shows as OpenMetrics, read by the reference parser. Needs ROWLOCK_TEST_HELM, the Python of a virtual
// environment with test/deploy/helm/requirements.txt. metrics.test.ts checks the rules that matter here without it.

import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { processStage } from "../process/stage.ts";
import { freshSqlite } from "../support/database.ts";

const PYTHON = process.env.ROWLOCK_TEST_HELM;
const PARSE = `
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
print(json.dumps({family.name: family.type for family in text_string_to_metric_families(sys.stdin.read())}))
`;

describe.runIf(PYTHON)("the reference parser of OpenMetrics", () => {
  const stage = processStage();

  test("takes what a server shows", async () => {
    const { client, metricsUrl } = await stage.serving(await stage.database(freshSqlite));
    await client.lease({
      name: "etl/load",
      terms: { lasting: { case: "ttl", value: { seconds: 60n, nanos: 0 } } },
    });
    const accept = "application/openmetrics-text; version=1.0.0";
    const answer = await fetch(`${metricsUrl}/metrics`, { headers: { accept } });
    expect(answer.headers.get("content-type")).toMatch(/^application\/openmetrics-text/);
    const { stdout, stderr } = spawnSync(PYTHON as string, ["-c", PARSE], {
      input: await answer.text(),
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      rowlock_acquires: "counter",
      rowlock_grpc_call_duration_seconds: "histogram",
      nodejs_active_handles: "gauge",
      nodejs_active_handles_total: "gauge",
    });
  });
});
