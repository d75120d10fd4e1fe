// The Helm chart, linted and rendered by render.py with the values of many cases at once, and what its objects say, as
// far as tests look at it.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

export const CHART = join(import.meta.dirname, "../../../deploy/helm/rowlock");
const VALUES = join(import.meta.dirname, "values");
/** A Python that has the packages of requirements.txt; undefined: nothing can be rendered. */
export const PYTHON = process.env.ROWLOCK_TEST_HELM;

export type Labels = Readonly<Record<string, string>>;

export interface Selector {
  readonly matchLabels: Labels;
}

export interface Named {
  readonly name: string;
  readonly value?: string;
}

interface FileSource {
  readonly name: string;
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

export interface Container {
  readonly args: readonly string[];
  readonly env?: readonly Named[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: object;
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
  readonly lifecycle?: { readonly preStop: { readonly sleep: { readonly seconds: number } } };
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

export interface PodSpec {
  readonly securityContext: object;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly terminationGracePeriodSeconds?: number;
  readonly containers: readonly [Container];
  readonly volumes?: readonly {
    readonly name: string;
    readonly projected?: {
      readonly sources: readonly { readonly secret?: FileSource; readonly configMap?: FileSource }[];
    };
  }[];
}

export interface Thing {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Labels };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another one, and render.py has held it to its schema.
  readonly spec: any;
  readonly data: Readonly<Record<string, string>>;
}

export interface Rendered {
  readonly fault?: string;
  readonly objects: readonly Thing[];
  readonly notes: string;
  readonly lint: readonly string[];
  readonly invalid: readonly string[];
}

/** The values of the files in `values/`, by their names without the ending. */
export function valuesOfFiles(): Record<string, Record<string, unknown>> {
  const files = readdirSync(VALUES).map((file) => [
    file.replace(".yaml", ""),
    parse(readFileSync(join(VALUES, file), "utf8")),
  ]);
  return Object.fromEntries(files);
}

/** Renders the chart once for each case. */
export function render<Name extends string>(cases: Readonly<Record<Name, unknown>>): Record<Name, Rendered> {
  const script = join(import.meta.dirname, "render.py");
  const { status, stdout, stderr } = spawnSync(PYTHON as string, [script, CHART], {
    input: JSON.stringify(cases),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (status !== 0) throw new Error(`render.py failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** The one object of this kind, and of this name if several may have the kind. */
export function only({ objects, fault }: Rendered, kind: string, name?: string): Thing {
  const found = objects?.filter(
    (thing) => thing.kind === kind && (name ?? thing.metadata.name) === thing.metadata.name,
  );
  const [thing, second] = found ?? [];
  if (!thing || second)
    throw new Error(`There are ${found?.length} of ${kind} ${name ?? ""}. ${fault ?? ""}`);
  return thing;
}

/** The Deployment or StatefulSet of the servers. */
export function workload(rendered: Rendered): Thing {
  return only(
    rendered,
    rendered.objects.some(({ kind }) => kind === "StatefulSet") ? "StatefulSet" : "Deployment",
  );
}

/** The pod that an object is or makes; undefined: none. */
export function podOf({ kind, spec }: Thing): PodSpec | undefined {
  return kind === "Pod" ? spec : spec?.template?.spec;
}

/** The environment of a pod's container in a pod with the address 10.0.0.7, without what Secrets hold. */
export function envOf({ containers: [{ env = [] }] }: PodSpec): Record<string, string> {
  const written = env.filter(({ value }) => value !== undefined);
  return Object.fromEntries(
    written.map(({ name, value = "" }) => [name, value.replace("$(POD_IP)", "10.0.0.7")]),
  );
}

/** The paths of the files that a pod gets from Secrets and ConfigMaps, each with its source: `secret NAME KEY`. */
export function filesOf({ containers: [{ volumeMounts = [] }], volumes = [] }: PodSpec): Map<string, string> {
  const files = new Map<string, string>();
  for (const { name, mountPath } of volumeMounts) {
    const volume = volumes.find((each) => each.name === name);
    for (const { secret, configMap } of volume?.projected?.sources ?? []) {
      const { name: from, items } = (secret ?? configMap) as FileSource;
      const kind = secret ? "secret" : "configMap";
      for (const { key, path } of items) files.set(`${mountPath}/${path}`, `${kind} ${from} ${key}`);
    }
  }
  return files;
}

export function isSelected({ matchLabels }: Selector, labels: Labels): boolean {
  return Object.entries(matchLabels).every(([name, value]) => labels[name] === value);
}
