// Checks deployment files and the workflow without running them: they parse, and the files and names they use exist.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image?: string;
        readonly build?: string;
        readonly volumes?: readonly string[];
        readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
        readonly ports?: readonly string[];
      }
    >
  >;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(read("compose.yaml")) as Compose;
const services = Object.entries(compose.services);

describe("compose.yaml", () => {
  it("names only services, volumes and files that exist", () => {
    for (const [name, { volumes = [], depends_on = [] }] of services) {
      for (const volume of volumes) {
        const source = volume.split(":")[0] ?? "";
        const exists = source.startsWith("./") ? existsSync(join(root, source)) : source in compose.volumes;
        expect(exists, `${name}: ${source}`).toBe(true);
      }
      for (const other of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)) {
        expect(Object.keys(compose.services)).toContain(other);
      }
    }
  });

  it("pins a version of each image that it does not build", () => {
    for (const [, { image, build }] of services) {
      if (build === undefined) expect(image).toMatch(/:v?\d/);
    }
  });

  it("publishes ports on the loopback alone", () => {
    for (const [, { ports = [] }] of services) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  const hasCompose = spawnSync("docker", ["compose", "version"], { stdio: "ignore" }).status === 0;
  it.runIf(hasCompose)("is accepted by docker compose", () => {
    const { status, stderr } = spawnSync("docker", ["compose", "config", "--quiet"], {
      cwd: root,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });
});

describe("Dockerfile", () => {
  const ignored = read(".dockerignore").split("\n");
  /** What is copied from the build context and not from another stage; "." means everything. */
  const copied = read("Dockerfile")
    .split("\n")
    .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
    .flatMap((line) => line.split(/\s+/).slice(1, -1));

  it.each([...new Set(copied)])("copies %s, which exists and reaches the builder", (path) => {
    expect(existsSync(join(root, path))).toBe(true);
    if (path !== ".") expect(ignored).toContain(`!${path}`);
  });

  it.each(ignored.filter((line) => line.startsWith("!")))(
    "is sent %s by .dockerignore, which exists",
    (line) => {
      expect(existsSync(join(root, line.slice(1)))).toBe(true);
    },
  );
});

describe(".github", () => {
  const templates = readdirSync(join(root, ".github/ISSUE_TEMPLATE")).map((file) => `ISSUE_TEMPLATE/${file}`);
  it.each(["workflows/ci.yml", ...templates])("%s is YAML", (path) => {
    expect(parse(read(`.github/${path}`))).toBeTypeOf("object");
  });

  it("runs what a fresh clone has to pass, and nothing of its own", () => {
    const { jobs } = parse(read(".github/workflows/ci.yml")) as {
      jobs: Readonly<Record<string, { steps: readonly { run?: string }[] }>>;
    };
    const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
    expect(commands).toEqual([".ci/run"]);
    expect(existsSync(join(root, ".ci/run"))).toBe(true);
  });
});

describe("deploy", () => {
  it("has a list of dashboards that is YAML", () => {
    expect(parse(read("deploy/grafana/provisioning/dashboards/rowlock.yml"))).toBeTypeOf("object");
  });

  it("has rules that Prometheus finds where compose.yaml mounts them", () => {
    const { rule_files } = parse(read("deploy/prometheus.yml")) as { rule_files: readonly string[] };
    const mounted = compose.services.prometheus?.volumes?.map((volume) => volume.split(":")[1]);
    expect(rule_files.length).toBeGreaterThan(0);
    for (const file of rule_files) expect(mounted).toContain(`/etc/prometheus/${file}`);
  });

  it("has an example of static targets, with the rules and the job of the other one", () => {
    const [usual, fixed] = ["prometheus.yml", "prometheus.static.yml"].map((file) =>
      parse(read(`deploy/${file}`)),
    );
    expect(fixed.rule_files).toEqual(usual.rule_files);
    const [job] = fixed.scrape_configs;
    expect(job.job_name).toBe(usual.scrape_configs[0].job_name);
    const installations = job.static_configs.map(({ labels }: { labels: object }) => labels);
    expect(installations).toEqual([{ installation: "production" }, { installation: "test" }]);
  });

  it("has dashboards that name the provisioned data source and no other", () => {
    const { datasources } = parse(read("deploy/grafana/provisioning/datasources/prometheus.yml")) as {
      datasources: readonly { uid: string }[];
    };
    const known = new Set(datasources.map(({ uid }) => uid));
    for (const file of readdirSync(join(root, "deploy/grafana/dashboards"))) {
      const { panels } = JSON.parse(read(`deploy/grafana/dashboards/${file}`)) as {
        panels: readonly { datasource?: { uid: string } }[];
      };
      for (const { datasource } of panels) if (datasource) expect(known).toContain(datasource.uid);
    }
  });
});
