// What the Helm chart says of its values: the settings of the server in deploy/helm/rowlock/values.schema.json, from
// server/config/settings.ts, and the table in its README, from that schema and values.yaml. `npm run docs:chart` writes
// both, and a test compares them.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { describeSettings } from "../server/config/settings.ts";

const CHART = join(import.meta.dirname, "../deploy/helm/rowlock");
const SCHEMA = join(CHART, "values.schema.json");
const README = join(CHART, "README.md");
const [BEGIN, END] = ["<!-- made by npm run docs:chart -->", "<!-- end -->"];

/** Settings that the chart makes of other values, beside those that name files, which a pod has only if it mounts them. */
const MADE_BY_THE_CHART: readonly string[] = [
  "ROWLOCK_DATABASE_URL",
  "ROWLOCK_DATABASE_VERIFY_NAME",
  "ROWLOCK_LISTEN",
  "ROWLOCK_ADVERTISE",
  "ROWLOCK_METRICS_LISTEN",
  "ROWLOCK_METRICS_TLS",
  "ROWLOCK_ALLOW_PLAINTEXT",
  "ROWLOCK_MIGRATE",
];

interface Schema {
  readonly description?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** The schema with all settings that `settings` may have, as its file should be. */
export function chartSchema(): unknown {
  const schema = JSON.parse(readFileSync(SCHEMA, "utf8"));
  const settings = describeSettings().filter(
    ({ name, placeholder }) => placeholder !== "<file>" && !MADE_BY_THE_CHART.includes(name),
  );
  schema.properties.settings.properties = Object.fromEntries(
    settings.map(({ name, about, placeholder, bound }) => [
      name,
      { description: about, ...typeOf(placeholder, bound) },
    ]),
  );
  return schema;
}

/** What a value may be, by how the help shows it: `<duration>`, and `1s to 10m, or auto`. */
function typeOf(placeholder: string, bound: string): object {
  const [usual = "", word] = bound.split(", or ");
  const orWord = (type: object) => (word === undefined ? type : { anyOf: [type, { const: word }] });
  if (placeholder === "<duration>")
    return { type: "string", pattern: `^([0-9]{1,9}(ms|s|m|h|d)${word === undefined ? "" : `|${word}`})$` };
  if (placeholder === "<number>") {
    const [minimum, maximum] = usual.split(" to ").map(Number);
    return orWord({ type: "integer", minimum, maximum });
  }
  if (placeholder === "[true|false]") return orWord({ type: "boolean" });
  if (placeholder === "<word>")
    return { enum: [...usual.split(", "), ...(word === undefined ? [] : [word])] };
  return { type: "string" };
}

/** The README with its table of values, as its file should be. */
export function chartReadme(): string {
  const readme = readFileSync(README, "utf8");
  const [before, after] = [readme.indexOf(BEGIN) + BEGIN.length, readme.indexOf(END)];
  const schema = JSON.parse(readFileSync(SCHEMA, "utf8")) as Schema;
  const values = parse(readFileSync(join(CHART, "values.yaml"), "utf8"));
  const rows = rowsOf(schema, values, "").map((row) => `| ${row.join(" | ")} |`);
  const table = ["| value | default | what it is |", "| --- | --- | --- |", ...rows].join("\n");
  return `${readme.slice(0, before)}\n\n${table}\n\n${readme.slice(after)}`;
}

type Row = readonly [path: string, usual: string, about: string];

function rowsOf(schema: Schema, value: unknown, path: string): Row[] {
  const { description = "", properties } = schema;
  const isGroup = properties !== undefined && path !== "settings";
  if (!isGroup) return [[`\`${path}\``, usual(value), description]];
  return Object.entries(properties).flatMap(([name, inner]) =>
    // `global` is Helm's own.
    name === "global"
      ? []
      : rowsOf(
          inner,
          (value as Readonly<Record<string, unknown>>)[name],
          path === "" ? name : `${path}.${name}`,
        ),
  );
}

/** A default in one cell, as one would write it with `--set`; of a file only its key, as its place is empty. */
function usual(value: unknown): string {
  if (value === "" || isEmpty(value)) return "";
  if (typeof value !== "object" || value === null) return `\`${value}\``;
  if (Array.isArray(value)) return `\`${value.join("`, `")}\``;
  return Object.entries(value)
    .filter(([, inner]) => inner !== "")
    .map(
      ([name, inner]) => `\`${name}: ${isPlain(inner) ? inner : JSON.stringify(inner).replaceAll('"', "")}\``,
    )
    .join(", ");
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function isPlain(value: unknown): boolean {
  return typeof value !== "object";
}

if (import.meta.main) {
  writeFileSync(SCHEMA, `${JSON.stringify(chartSchema(), null, 2)}\n`);
  writeFileSync(README, chartReadme());
}
