// What the Helm chart makes of values: each object is held to its schema, the parts fit each other and the server, and a
// server starts, answers its probes and stops in time with what its pod would get. Needs ROWLOCK_TEST_HELM, the Python
// of a virtual environment with helm/requirements.txt.

import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { newToken } from "../../server/access/tokens-file.ts";
import { loadConfig, loadDatabaseConfig } from "../../server/config/config.ts";
import { CONFIG_NAME, describeSettings } from "../../server/config/settings.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { certificateAuthority, revocationList, signedCertificate } from "../process/certificate.ts";
import { processStage } from "../process/stage.ts";
import { reportLeftOut, testServers } from "../support/database.ts";
import { openPlainConnection } from "../support/mysql-stage.ts";
import {
  CHART,
  envOf,
  filesOf,
  isSelected,
  only,
  type PodSpec,
  type Probe,
  PYTHON,
  podOf,
  type Rendered,
  render,
  type Thing,
  valuesOfFiles,
  workload,
} from "./helm/rendered.ts";

/** The last rows and the exit of a server, after its drain: `Restarts` in docs/operations.md. */
const LAST_ROWS_S = 2;

const FILES = valuesOfFiles();
const { smallest, everything, sqlite } = FILES;
/** The values of a file with others in their place, at any depth. */
const but = (values: object | undefined, changed: object) => merged(values ?? {}, changed);
function merged(values: object, changed: object): object {
  const both = Object.entries(changed).map(([name, value]) => {
    const before = (values as Readonly<Record<string, unknown>>)[name];
    const isDeep = isObject(before) && isObject(value);
    return [name, isDeep ? merged(before, value) : value];
  });
  return { ...values, ...Object.fromEntries(both) };
}
const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const PROMETHEUS = [
  {
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } },
    podSelector: { matchLabels: { "app.kubernetes.io/name": "prometheus" } },
  },
];

const REFUSED: Readonly<Record<string, readonly [values: object, ...faults: RegExp[]]>> = {
  "nothing, as Helm's defaults are": [
    {},
    /^Rowlock cannot be installed: 3 of the values are wrong\.$/m,
    /^ {2}- image\.repository is empty: build the image from Rowlock's Dockerfile/m,
    /^ {2}- There is no database: set database\.url .* or sqlite\.enabled=true/m,
    /^ {2}- There is no certificate: set tls\.secret .* or tls\.certManager\.enabled=true, or, .*, tls\.plaintext=true\.$/m,
  ],
  "several servers with an SQLite file": [
    but(sqlite, { replicas: 2 }),
    /one of the values is wrong\.$/m,
    /- replicas is 2 and sqlite\.enabled is true: an SQLite file has one server, so set replicas=1/,
  ],
  "an SQLite file with what only a database server has": [
    but(sqlite, {
      database: { url: "mysql://rowlock@db/rowlock" },
      migration: { at: "job" },
      stateFile: { keptBy: "claim" },
    }),
    /3 of the values/,
    /- database\.url and sqlite\.enabled are both set/,
    /- migration\.at is job/,
    /- stateFile\.keptBy is claim/,
  ],
  "a password in a URL": [
    but(smallest, {
      database: { url: "mysql://rowlock:s3cret@db/rowlock" },
      migration: { url: "mysql://admin:s3cret@db/rowlock" },
    }),
    /- database\.url has a password: .* name that in database\.password\.secret\.$/m,
    /- migration\.url has a password: .* name that in migration\.password\.secret\.$/m,
  ],
  "URLs that name no user or no database": [
    but(smallest, {
      database: { url: "mysql://db/rowlock" },
      migration: { url: "postgres://admin@db/rowlock" },
    }),
    /- database\.url is "mysql:\/\/db\/rowlock": write mysql:\/\/USER@HOST:PORT\/DATABASE/,
    /- migration\.url is "postgres:/,
  ],
  "everything twice": [
    but(everything, {
      database: { tls: { systemAuthorities: true, ca: { secret: "another" } } },
      tls: { secret: "rowlock-tls", plaintext: true, ca: { secret: "one", configMap: "other" } },
      access: { policyFile: { secret: "another" } },
      settings: { ROWLOCK_JWT_KEYS: "https://issuer.example/keys" },
    }),
    /- database\.tls\.ca and database\.tls\.systemAuthorities are both set/,
    /- database\.tls\.ca has a secret and a configMap: keep one/,
    /- tls\.secret and tls\.certManager\.enabled are both set/,
    /- tls\.plaintext is true, and there is a certificate/,
    /- tls\.ca has a secret and a configMap: keep one/,
    /- access\.policy and access\.policyFile are both set/,
    /- access\.jwtKeys and settings\.ROWLOCK_JWT_KEYS are both set/,
  ],
  "what needs a certificate, in plain text": [
    but(smallest, {
      tls: { clientCa: { secret: "authorities" } },
      access: { tokens: { secret: "tokens" } },
      metrics: { tls: true },
    }),
    /- tls\.clientCa is set without a certificate of the server/,
    /- metrics\.tls is true without a certificate/,
    /- Callers have tokens, and there is no certificate/,
  ],
  "revoked clients where none has to show a certificate": [
    but(smallest, { tls: { secret: "tls", clientCrl: { configMap: "revoked" } } }),
    /- tls\.clientCrl is set, and no client has to show a certificate: set tls\.clientCa/,
  ],
  "a policy without callers that it could know": [
    but(smallest, { access: { policy: { rules: [] } } }),
    /- There is a policy, and callers have no way to prove who they are/,
  ],
  "names of certificates that nobody shows": [
    but(smallest, { settings: { ROWLOCK_CERTIFICATE_NAMES: "dns" } }),
    /- settings\.ROWLOCK_CERTIFICATE_NAMES is set, and no client has to show a certificate/,
  ],
  "an issuer without a name": [
    but(smallest, { tls: { plaintext: false, certManager: { enabled: true } } }),
    /- tls\.certManager\.issuer\.name is empty/,
  ],
  "values that do not exist, or are of another kind": [
    but(smallest, {
      replica: 3,
      image: { repo: "x" },
      settings: { ROWLOCK_GRACE: 10, ROWLOCK_LISTEN: "0.0.0.0:1", ROWLOCK_QUEUE_MAX: 0 },
      extraEnv: [{ name: "ROWLOCK_GRACE", value: "10s" }],
      migration: { at: "night" },
    }),
    /additional properties 'replica' not allowed/,
    /'\/image': additional properties 'repo' not allowed/,
    /'\/settings\/ROWLOCK_GRACE': got number, want string/,
    /'\/settings': additional properties 'ROWLOCK_LISTEN' not allowed/,
    /'\/settings\/ROWLOCK_QUEUE_MAX'/,
    /'\/extraEnv\/0\/name': 'not' failed/,
    /'\/migration\/at': value must be one of 'start', 'job', 'nowhere'/,
  ],
  "variables that Kubernetes refuses": [
    but(smallest, {
      extraEnv: [
        { name: "OTEL_BSP_MAX_QUEUE_SIZE", value: 2048 },
        { name: "DEBUG", value: true },
        { name: "2FAST", value: "x" },
        { name: "A B", value: "x" },
        { name: "A=B", value: "x" },
        { name: "POD_IP", value: "x" },
        { name: "TWICE", value: "x", valueFrom: {} },
        { name: "ELSE", vlaue: "x" },
      ],
    }),
    /'\/extraEnv\/0\/value': got number, want string/,
    /'\/extraEnv\/1\/value': got boolean, want string/,
    /'\/extraEnv\/2\/name': '2FAST' does not match pattern/,
    /'\/extraEnv\/3\/name'/,
    /'\/extraEnv\/4\/name'/,
    /'\/extraEnv\/5\/name'/,
    /'\/extraEnv\/6'/,
    /'\/extraEnv\/7': additional properties 'vlaue' not allowed/,
  ],
  "names that Kubernetes refuses": [
    but(smallest, {
      nameOverride: "My_Locks",
      fullnameOverride: "1locks",
      serviceAccountName: "Rowlock",
      database: { password: { secret: "my_secret", key: "a/b" } },
      image: { pullSecrets: ["Login"] },
      podLabels: { "a b": "x", team: "of locks" },
      podAnnotations: { "-x": "y" },
      sqlite: { storageClass: "fast_disk" },
      spreadOver: ["zone of the node"],
      networkPolicy: { scrapers: [{}] },
    }),
    /'\/nameOverride'/,
    /'\/fullnameOverride'/,
    /'\/serviceAccountName'/,
    /'\/database\/password\/secret'/,
    /'\/database\/password\/key'/,
    /'\/image\/pullSecrets\/0'/,
    /invalid propertyName 'a b'/,
    /'\/podLabels\/team'/,
    /invalid propertyName '-x'/,
    /'\/sqlite\/storageClass'/,
    /'\/spreadOver\/0'/,
    /'\/networkPolicy\/scrapers\/0'/,
  ],
  "a release whose name no Service can have": [
    but(smallest, { "(release)": "1locks" }),
    /- Everything would be called "1locks-rowlock", and Kubernetes takes .*: set fullnameOverride\.$/m,
  ],
  "a Prometheus that its network policy keeps out": [
    but(smallest, { metrics: { serviceMonitor: { enabled: true } } }),
    /- metrics\.serviceMonitor\.enabled is true, .*: name .* your Prometheus in networkPolicy\.scrapers\.$/m,
  ],
};

const FURTHER = {
  "a Prometheus": but(smallest, { networkPolicy: { scrapers: PROMETHEUS } }),
  command: but(everything, { command: ["restored", "--pause", "1h"] }),
  "command on a file": but(sqlite, { command: ["doctor"] }),
  addresses: but(smallest, {
    database: { url: "mysql://rowlock@db-1:3307,db-2,[2001:db8::3]:3308/rowlock" },
    networkPolicy: { egress: { enabled: true } },
  }),
};

/** The values that the README shows, each with those of its installation beneath. */
const shown = [...readFileSync(join(CHART, "README.md"), "utf8").matchAll(/^```yaml\n(.*?)^```/gms)].map(
  ([, text = ""]) => parse(text) as object,
);
const README = Object.fromEntries(
  shown.map((values) => [`the README: ${Object.keys(values).join(", ")}`, but(shown[0], values)]),
);

const refusals = Object.fromEntries(Object.entries(REFUSED).map(([title, [values]]) => [title, values]));
const all: Readonly<Record<string, Rendered>> = PYTHON
  ? render({ ...FILES, ...FURTHER, ...README, ...refusals })
  : {};
const of = (name: string) => all[name] as Rendered;
const CASES = Object.keys(FILES);

describe.runIf(PYTHON)("the chart refuses", () => {
  it.each(Object.entries(REFUSED))("%s", (title, [, ...faults]) => {
    const { fault } = of(title);
    for (const each of faults) expect(fault).toMatch(each);
    expect(fault).not.toContain("s3cret@");
  });
});

describe.runIf(PYTHON).each(CASES)("with the values of %s, the chart", (name) => {
  const rendered = of(name);
  const pods = (): [Thing, PodSpec][] =>
    rendered.objects.flatMap((thing) => {
      const pod = podOf(thing);
      return pod ? [[thing, pod]] : [];
    });
  const server = () => podOf(workload(rendered)) as PodSpec;

  it("makes objects that Helm's linter and the schemas of Kubernetes find nothing in", () => {
    expect(rendered).toMatchObject({ lint: [], invalid: [] });
    expect(rendered.notes).not.toMatch(/<no value>|%!/);
  });

  it("runs every pod as nobody in particular, who may write nowhere", () => {
    for (const [{ kind }, { containers, ...pod }] of pods()) {
      expect(pod, kind).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 1000,
          fsGroup: 1000,
          seccompProfile: { type: "RuntimeDefault" },
        },
      });
      expect(containers).toHaveLength(1);
      expect(containers[0].securityContext, kind).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  });

  it("mounts each file that an environment variable names, or the folder that it is written to", () => {
    for (const [{ kind }, pod] of pods()) {
      const [files, [container]] = [filesOf(pod), pod.containers];
      const writable = (container.volumeMounts ?? []).filter(({ readOnly }) => !readOnly);
      for (const [setting, value] of Object.entries(envOf(pod))) {
        const path = value.replace(/^sqlite:/, "");
        if (!path.startsWith("/")) continue;
        const isThere = files.has(path) || writable.some(({ mountPath }) => dirname(path) === mountPath);
        expect(isThere, `${kind}: ${setting}=${value}`).toBe(true);
      }
      for (const arg of container.args) if (arg.startsWith("/")) expect(files.has(arg), arg).toBe(true);
      const volumes = (pod.volumes ?? []).map((volume) => volume.name);
      const claimed = (workload(rendered).spec.volumeClaimTemplates ?? []) as readonly Thing[];
      for (const mount of container.volumeMounts ?? [])
        expect([...volumes, ...claimed.map(({ metadata }) => metadata.name)]).toContain(mount.name);
    }
  });

  it("gives a server settings that it accepts", () => {
    const env = envOf(server());
    const readFile = (path: string) => contentOf(path, filesOf(server()), rendered);
    expect(loadConfig({ argvFlags: {}, env, readFile, parseDatabaseUrl })).not.toHaveProperty("faults");
    expect(env.ROWLOCK_ADVERTISE).toMatch(/10\.0\.0\.7.*:50051$/);
  });

  it("probes pages where the server serves them", () => {
    const { containers, ...pod } = server();
    const [{ startupProbe, readinessProbe, livenessProbe, ports }] = containers;
    const env = envOf({ containers, ...pod });
    const portOf = (setting: string) => Number(/:(\d+)$/.exec(env[setting] ?? "")?.[1]);
    const http = env.ROWLOCK_HTTP_LISTEN
      ? [{ name: "http", containerPort: portOf("ROWLOCK_HTTP_LISTEN") }]
      : [];
    expect(ports).toEqual([
      { name: "grpc", containerPort: portOf("ROWLOCK_LISTEN") },
      { name: "metrics", containerPort: portOf("ROWLOCK_METRICS_LISTEN") },
      ...http,
    ]);
    const scheme = env.ROWLOCK_METRICS_TLS === "true" ? "HTTPS" : "HTTP";
    expect(startupProbe.httpGet).toEqual({ path: "/healthz", port: "metrics", scheme });
    expect(readinessProbe.httpGet).toEqual({ path: "/readyz", port: "metrics", scheme });
    expect(livenessProbe.httpGet).toEqual({ path: "/healthz", port: "metrics", scheme });
  });

  it("leaves a server the time to stop, and its waiters the grace period to return", () => {
    const { minReadySeconds, progressDeadlineSeconds = Number.POSITIVE_INFINITY } = workload(rendered).spec;
    const env = envOf(server());
    const graceS = secondsOf(env.ROWLOCK_GRACE);
    const drainS = secondsOf(env.ROWLOCK_DRAIN_TIMEOUT);
    const [{ lifecycle, startupProbe }] = server().containers;
    const stopS = (lifecycle?.preStop.sleep.seconds ?? 0) + drainS + LAST_ROWS_S;
    expect(server().terminationGracePeriodSeconds).toBeGreaterThanOrEqual(stopS + 4);
    expect(minReadySeconds).toBeGreaterThanOrEqual(graceS);
    expect(minReadySeconds).toBeLessThan(graceS + 1);
    const startS = startupProbe.periodSeconds * startupProbe.failureThreshold;
    expect(progressDeadlineSeconds).toBeGreaterThan(startS + minReadySeconds);
  });

  it("selects the servers, and no pod of a job or a test", () => {
    const { spec } = workload(rendered);
    const labels = spec.template.metadata.labels;
    const others = pods()
      .filter(([{ kind }]) => kind === "Job" || kind === "Pod")
      .map(([thing]) => (thing.kind === "Job" ? thing.spec.template : thing).metadata.labels);
    const selectors = rendered.objects.flatMap(({ kind, spec: { selector, podSelector } = {} }) => {
      if (kind === "Service") return [{ matchLabels: selector }];
      return kind === "ServiceMonitor" ? [] : [selector, podSelector].filter(Boolean);
    });
    expect(selectors.length).toBeGreaterThanOrEqual(3);
    for (const selector of selectors) {
      expect(isSelected(selector, labels)).toBe(true);
      for (const other of others) expect(isSelected(selector, other)).toBe(false);
    }
    const ports = server().containers[0].ports?.map((port) => port.name);
    for (const { spec: service } of rendered.objects.filter(({ kind }) => kind === "Service"))
      for (const { targetPort } of service.ports) expect(ports).toContain(targetPort);
  });
});

describe.runIf(PYTHON)("the chart", () => {
  it("lets values set each setting that it does not make itself, but for a file of all settings", () => {
    const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8"));
    const made = CASES.flatMap((name) => Object.keys(envOf(podOf(workload(of(name))) as PodSpec)));
    // The chart gives the URL without its password, which it gives as a file.
    const others = [CONFIG_NAME, "ROWLOCK_DATABASE_URL_FILE"];
    const known = new Set([...others, ...Object.keys(schema.properties.settings.properties), ...made]);
    expect(describeSettings().filter(({ name }) => !known.has(name))).toEqual([]);
  });

  it.each(Object.keys(README))("takes the values of %s", (name) => {
    expect(of(name)).toMatchObject({ lint: [], invalid: [] });
    const files = filesOf(podOf(workload(of(name))) as PodSpec);
    expect(files.get("/etc/rowlock/database/password")).toBe("secret rowlock-database password");
  });

  it("replaces servers one after the other, but a server with a file before the next one starts", () => {
    expect(workload(of("smallest")).spec.strategy).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
    expect(workload(of("sqlite")).spec).toMatchObject({ replicas: 1, strategy: { type: "Recreate" } });
    expect(only(of("smallest"), "PodDisruptionBudget").spec).toMatchObject({ maxUnavailable: 1 });
  });

  it("offers calls over HTTP at the port that the settings open", () => {
    const offered = (name: string) => only(of(name), "Service", "locks-rowlock").spec.ports;
    expect(offered("everything")).toContainEqual({
      name: "http",
      port: 8080,
      targetPort: "http",
      appProtocol: "https",
    });
    expect(offered("smallest").map((port: { name: string }) => port.name)).toEqual(["grpc"]);
  });

  it("keeps what must outlive the servers", () => {
    const { metadata } = only(of("sqlite"), "PersistentVolumeClaim");
    expect(metadata).toMatchObject({ annotations: { "helm.sh/resource-policy": "keep" } });
    const { spec } = workload(of("everything"));
    expect(spec.volumeClaimTemplates).toHaveLength(1);
    expect(spec.serviceName).toBe("locks-rowlock-headless");
  });

  it("has the rules, the dashboard and the job that deploy/ has", () => {
    const read = (path: string) => readFileSync(join(CHART, "../..", path), "utf8");
    const rules = parse(read("alerts.yml"));
    expect(only(of("everything"), "PrometheusRule").spec).toEqual(rules);
    const dashboard = only(of("everything"), "ConfigMap", "locks-rowlock-dashboard");
    expect(JSON.parse(dashboard.data["rowlock.json"] ?? "")).toEqual(
      JSON.parse(read("grafana/dashboards/rowlock.json")),
    );
    const [endpoint] = only(of("everything"), "ServiceMonitor").spec.endpoints;
    const [{ targetLabel, replacement }, installation] = endpoint.relabelings;
    expect(targetLabel).toBe("job");
    expect(installation).toEqual({ targetLabel: "installation", replacement: "prod/locks-rowlock" });
    expect(JSON.stringify(rules)).toContain(`up{job=\\"${replacement}\\"}`);
  });

  it("scrapes each server once, with the token and the authority that it needs", () => {
    const monitor = only(of("everything"), "ServiceMonitor").spec;
    const services = of("everything").objects.filter(({ kind }) => kind === "Service");
    const scraped = services.filter(({ metadata }) => isSelected(monitor.selector, metadata.labels));
    expect(scraped.map(({ spec }) => spec.clusterIP)).toEqual(["None"]);
    const [{ port, scheme, authorization, tlsConfig }] = monitor.endpoints;
    expect(scraped[0]?.spec.ports.map(({ name }: { name: string }) => name)).toContain(port);
    expect({ scheme, authorization, tlsConfig }).toEqual({
      scheme: "https",
      authorization: { credentials: { name: "rowlock-metrics", key: "current" } },
      tlsConfig: {
        serverName: "locks-rowlock.prod.svc",
        ca: { secret: { name: "locks-rowlock-tls", key: "ca.crt" } },
      },
    });
    expect(only(of("everything"), "Certificate").spec.dnsNames).toContain(tlsConfig.serverName);
    const [{ tlsConfig: foreign }] = only(of("bare"), "ServiceMonitor").spec.endpoints;
    expect(foreign.ca).toEqual({ configMap: { name: "authorities", key: "ca.crt" } });
  });

  it("lets servers reach the ports of each address of the database, and each other", () => {
    const { egress, ingress } = only(of("addresses"), "NetworkPolicy").spec;
    expect(egress).toContainEqual({ ports: [{ port: 3307 }, { port: 3306 }, { port: 3308 }] });
    expect(ingress).toEqual([{ ports: [{ port: "grpc" }] }]);
    const strict = only(of("everything"), "NetworkPolicy").spec;
    const labels = workload(of("everything")).spec.template.metadata.labels;
    const test = only(of("everything"), "Pod").metadata.labels;
    const [clients] = strict.ingress;
    expect(clients.ports).toEqual([{ port: "grpc" }, { port: "http" }]);
    expect(clients.from).toContainEqual({ namespaceSelector: { matchLabels: { team: "etl" } } });
    const scrapers = { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } };
    expect(strict.ingress[1].from).toEqual([{ namespaceSelector: scrapers }]);
    const own = clients.from.find((peer: object) => "podSelector" in peer).podSelector;
    expect([labels, test].map((each) => isSelected(own, each))).toEqual([true, true]);
    expect(strict.egress).toContainEqual({
      ports: [{ port: 3307 }],
      to: [{ ipBlock: { cidr: "10.1.0.0/16" } }],
    });
  });

  it("lets nobody but a named Prometheus reach the metrics and the page, and its notes say how", () => {
    const metrics = (name: string) =>
      only(of(name), "NetworkPolicy").spec.ingress.filter(
        ({ ports }: { ports: readonly { port: string }[] }) => ports.some(({ port }) => port !== "grpc"),
      );
    expect(metrics("smallest")).toEqual([]);
    expect(metrics("a Prometheus")).toEqual([{ ports: [{ port: "metrics" }], from: PROMETHEUS }]);
    expect(of("smallest").notes).toContain("admits to it nobody, not even Prometheus");
    expect(of("smallest").notes).toContain("come from the node of a pod");
    const [, told = ""] = /^ {2}(networkPolicy:\n(?: {4}.*\n)+)/m.exec(of("smallest").notes) ?? [];
    expect(parse(told.replaceAll(/^ {2}/gm, ""))).toEqual({ networkPolicy: { scrapers: PROMETHEUS } });
    expect(of("a Prometheus").notes).toContain("admits to it only those of networkPolicy.scrapers");
  });

  it.each([
    ["everything", "-migrate", ["migrate", "up"], "mysql://admin@db-1.example:3307/rowlock", "migrations"],
    [
      "command",
      undefined,
      ["restored", "--pause", "1h"],
      "mysql://rowlock@db-1.example:3307/rowlock",
      "servers",
    ],
  ])("runs a job on the database, of %s", (name, suffix, args, url, key) => {
    const jobs = of(name).objects.filter(({ kind }) => kind === "Job");
    const job = jobs.find(({ metadata }) => metadata.name === (suffix && `locks-rowlock${suffix}`)) as Thing;
    const pod = podOf(job) as PodSpec;
    expect(pod.containers[0].args).toEqual(args);
    const [env, files] = [envOf(pod), filesOf(pod)];
    expect(env.ROWLOCK_DATABASE_URL).toBe(url);
    expect(files.get(env.ROWLOCK_DATABASE_PASSWORD_FILE ?? "")).toBe(`secret rowlock-database ${key}`);
    const readFile = (path: string) => contentOf(path, files, of(name));
    expect(loadDatabaseConfig({ argvFlags: {}, env, readFile, parseDatabaseUrl })).not.toHaveProperty(
      "faults",
    );
  });

  it("runs a job on an SQLite file", () => {
    const pod = podOf(only(of("command on a file"), "Job")) as PodSpec;
    const server = podOf(workload(of("sqlite"))) as PodSpec;
    expect(envOf(pod)).toEqual({ ROWLOCK_DATABASE_URL: envOf(server).ROWLOCK_DATABASE_URL });
    expect(pod.containers[0].volumeMounts).toEqual([{ name: "data", mountPath: "/var/lib/rowlock" }]);
    expect(pod.volumes).toEqual(server.volumes?.filter(({ name }) => name === "data"));
  });

  it("migrates before the servers, which then leave the schema alone", () => {
    const { metadata } = only(of("everything"), "Job");
    expect(metadata).toMatchObject({ annotations: { "helm.sh/hook": "pre-install,pre-upgrade" } });
    const env = (name: string) => envOf(podOf(workload(of(name))) as PodSpec).ROWLOCK_MIGRATE;
    expect(["everything", "bare", "smallest"].map(env)).toEqual(["false", "false", undefined]);
  });
});

const servers = PYTHON ? testServers() : [];
if (PYTHON) reportLeftOut(servers);

describe.each(servers)("a server on $label that gets what its pod would get", ({ fresh }) => {
  const stage = processStage();

  it.each(["smallest", "secured"])(
    "serves with the values of %s, stops in time, and holds a lock across it",
    async (name) => {
      const rendered = of(name);
      const pod = podOf(workload(rendered)) as PodSpec;
      const folder = stage.folder();
      const url = new URL(await stage.database(fresh));
      const password = "s3cret-of-the-chart";
      const user = `chart_${url.pathname.slice(-16)}`;
      const admin = await openPlainConnection(url.href);
      stage.afterwards(() => admin.close());
      stage.afterwards(() => admin.run(`DROP USER '${user}'@'%'`));
      await admin.run(`CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`);
      await admin.run(`GRANT ALL ON \`${url.pathname.slice(1)}\`.* TO '${user}'@'%'`);

      // As in the pod, but for what belongs to the machine: addresses, and where the files are.
      const moved = (text: string) => (text.startsWith("/") ? join(folder, text) : text);
      const laid = (of: PodSpec) => {
        for (const path of filesOf(of).keys()) {
          mkdirSync(dirname(moved(path)), { recursive: true });
          const isPassword = path === "/etc/rowlock/database/password";
          writeFileSync(moved(path), isPassword ? password : contentOf(path, filesOf(of), rendered));
        }
      };
      laid(pod);
      for (const { mountPath } of pod.containers[0].volumeMounts ?? [])
        mkdirSync(moved(mountPath), { recursive: true });
      const env = Object.fromEntries(Object.entries(envOf(pod)).map(([key, text]) => [key, moved(text)]));
      Object.assign(url, { username: user, password: "" });
      const serving = async () => {
        const process = stage.rowlock(pod.containers[0].args, {
          ...env,
          ROWLOCK_DATABASE_URL: url.href,
          ROWLOCK_LISTEN: "0.0.0.0:0",
          ROWLOCK_METRICS_LISTEN: "0.0.0.0:0",
          ROWLOCK_ADVERTISE: "auto",
        });
        const [, grpcPort] = await process.said(/gRPC +\S+:(\d+)/);
        const [, metricsPort] = await process.said(/metrics +\S+:(\d+)\/metrics/);
        return { process, grpcPort, metricsPort };
      };
      const { process, grpcPort, metricsPort } = await serving();

      const { startupProbe, readinessProbe, livenessProbe } = pod.containers[0];
      for (const probe of [startupProbe, readinessProbe, livenessProbe])
        expect(await statusOf(probe, Number(metricsPort))).toBe(200);

      const test = only(rendered, "Pod").spec as PodSpec;
      laid(test);
      const argsFor = (port = "") =>
        test.containers[0].args.map((arg) => (arg.includes(".svc:") ? `localhost:${port}` : moved(arg)));
      const tested = await stage.rowlock(argsFor(grpcPort)).ended();
      expect(tested, tested.err).toMatchObject({ code: 0 });
      expect(tested.out).toMatch(/^v\d+\./);
      /** A command about the lock of the test, by the way that the test takes to the server. */
      const asked = (command: string, port: string | undefined, ...more: string[]) => {
        const [, name = "", ...flags] = argsFor(port);
        return stage.rowlock([command, name, ...flags.slice(0, flags.indexOf("--wait")), ...more]).ended();
      };
      expect(await asked("acquire", grpcPort, "--ttl", "1h", "--owner", "anna")).toMatchObject({ code: 0 });

      const beganMs = performance.now();
      process.kill("SIGTERM");
      expect(await process.ended()).toMatchObject({ code: 0 });
      const stopS = (performance.now() - beganMs) / 1_000;
      const preStopS = pod.containers[0].lifecycle?.preStop.sleep.seconds ?? 0;
      expect(stopS).toBeLessThan((pod.terminationGracePeriodSeconds ?? 0) - preStopS);

      // The pod that comes after it has the lock still.
      const next = await serving();
      expect(await asked("run", next.grpcPort, "--no-wait", "true")).toMatchObject({
        code: 75,
        err: expect.stringContaining("is busy"),
      });
    },
  );
});

function secondsOf(duration = ""): number {
  const [, number, unit] = /^(\d+)(ms|s|m)$/.exec(duration) ?? [];
  return Number(number) * { ms: 0.001, s: 1, m: 60 }[unit as "ms" | "s" | "m"];
}

const AUTHORITY = certificateAuthority();
const SERVER = signedCertificate(AUTHORITY, "localhost", { hosts: ["localhost"] });
const CLIENT = signedCertificate(AUTHORITY, "a client");
const TESTER = newToken("helm-test");

/** What a file of a pod would hold. Throws, as a read would, if the pod does not have it. */
function contentOf(path: string, files: ReadonlyMap<string, string>, rendered: Rendered): string {
  const source = files.get(path);
  if (source === undefined) throw Object.assign(new Error(`${path} is not mounted.`), { code: "ENOENT" });
  const [kind = "", name = "", key = ""] = source.split(" ");
  const made = rendered.objects.find((thing) => thing.kind === "ConfigMap" && thing.metadata.name === name);
  if (kind === "configMap" && made) return made.data[key] ?? "";
  const pair = name.endsWith("-client") ? CLIENT : SERVER;
  if (name === "rowlock-database" || name === "rowlock-metrics") return `${name}-0123456789abcdef\n`;
  if (name === "rowlock-test") return `${TESTER.token}\n`;
  if (name === "rowlock-access") return `${TESTER.line}\n`;
  if (name === "cluster-keys") return JSON.stringify({ keys: [SIGNER.export({ format: "jwk" })] });
  if (name === "rowlock-policy") return "rules: []\n";
  if (key === "ca.crl") return revocationList(AUTHORITY, []);
  return key === "tls.crt" ? pair.cert : key === "tls.key" ? pair.key : AUTHORITY.cert;
}

const SIGNER = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;

/** As the kubelet asks: it accepts any certificate. */
async function statusOf({ httpGet: { path, scheme } }: Probe, port: number): Promise<number | undefined> {
  if (scheme === "HTTP") return (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  const answer = Promise.withResolvers<number | undefined>();
  get({ host: "127.0.0.1", port, path, rejectUnauthorized: false }, (response) => {
    answer.resolve(response.statusCode);
    response.resume();
  }).on("error", answer.reject);
  return await answer.promise;
}
