// What the Helm chart says of itself, without Helm: its schema and its README are made from the settings and from each
// other, and its files are those of deploy/. What it renders is in chart.long.test.ts.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { chartReadme, chartSchema } from "../../scripts/chart-values.ts";
import { nameOf, SETTINGS } from "../../server/config/settings.ts";
import { CHART } from "./helm/rendered.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(CHART, path), "utf8");
const values = parse(read("values.yaml"));

interface Schema {
  readonly description?: string;
  readonly additionalProperties?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
}
const schema = JSON.parse(read("values.schema.json")) as Schema;

describe("the chart", () => {
  it("has the schema that `npm run docs:chart` makes", () => {
    expect(schema).toEqual(chartSchema());
  });

  it("has the table that `npm run docs:chart` makes in its README", () => {
    expect(read("README.md")).toBe(chartReadme());
  });

  it("describes each value, refuses others, and has a default for each", () => {
    const compare = (path: string, { properties = {}, additionalProperties }: Schema, value: object) => {
      expect(additionalProperties, `additionalProperties of ${path || "the values"}`).toBe(false);
      const described = Object.keys(properties).filter((name) => `${path}${name}` !== "global");
      expect(Object.keys(value).sort(), path).toEqual(described.sort());
      for (const [name, inner] of Object.entries(properties)) {
        expect(inner.description, `${path}${name}`).toMatch(/\.$/);
        if (inner.properties && name !== "settings")
          compare(`${path}${name}.`, inner, (value as Readonly<Record<string, object>>)[name] as object);
      }
    };
    compare("", schema, values);
  });

  it("has the defaults of the settings that it computes with", () => {
    const usual = Object.entries(values.settings).map(([name, value]) => [name, value]);
    const ours = [SETTINGS.graceMs, SETTINGS.drainTimeoutMs].map((setting) => setting.default);
    expect(usual).toEqual([
      [nameOf("graceMs"), ours[0]],
      [nameOf("drainTimeoutMs"), ours[1]],
    ]);
  });

  it("installs the version that it is released with", () => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(parse(read("Chart.yaml"))).toMatchObject({ version, appVersion: version });
  });

  it.each([
    ["files/alerts.yml", "deploy/alerts.yml"],
    ["files/dashboard.json", "deploy/grafana/dashboards/rowlock.json"],
  ])("reads %s from %s, so that there is no second copy", (link, file) => {
    expect(realpathSync(join(CHART, link))).toBe(realpathSync(join(root, file)));
  });

  it("documents only files that exist", () => {
    for (const [, link = ""] of read("README.md").matchAll(/\]\((?!https?:)([^)#]+)/g))
      expect(existsSync(join(CHART, link)), link).toBe(true);
  });
});
