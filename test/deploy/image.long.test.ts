// The server's image, built and started as a user does, alone and by compose.yaml, if there is a Docker engine. Its ports
// are not published: commands in the containers ask the server.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { composeLacks, container, docker, dockerLacks, healthOf, logOf, removed } from "../support/docker.ts";

const root = join(import.meta.dirname, "../..");
const TAG = `rowlock-test:${process.pid}`;
const BUILDING_MS = 1_600_000;
/** It has 151 MB, of which Node is 116. */
const BYTES_MAX = 160e6;
const SBOM = "/app/sbom.cdx.json";

const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8");
const [, named = ""] = /^ARG NODE_IMAGE=(.+)$/m.exec(dockerfile) ?? [];
/** Where nothing can be pulled, an image that was made there stands for the one that is named. */
const base = process.env.ROWLOCK_TEST_NODE_IMAGE ?? named;
const lacks = dockerLacks(base);

describe.skipIf(lacks)(`the image${lacks ? `, left out: ${lacks}` : ""}`, () => {
  const commit = "0123456789".repeat(4);
  const scratch = mkdtempSync(join(tmpdir(), "rowlock-image-"));
  const WITH = [`COMMIT=${commit}`, `NODE_IMAGE=${base}`].map((arg) => `--build-arg=${arg}`);
  const build = (tag: string, cwd: string, ...more: string[]) =>
    docker(["build", "--network=host", ...WITH, ...more, "--tag", tag, "."], { cwd });
  /** A copy of the checkout, as other tests may work in that, with these rights for others. */
  const checkout = (umask: string) => {
    const folder = join(scratch, umask);
    const copy = `git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | (mkdir "$0" && tar -xm -C "$0")`;
    execFileSync("sh", ["-c", `umask ${umask}; ${copy}`, folder], { cwd: root });
    return folder;
  };
  beforeAll(() => void build(TAG, checkout("022")), BUILDING_MS);
  afterAll(() => {
    docker(["rmi", "--force", TAG, `${TAG}-again`]);
    rmSync(scratch, { recursive: true });
  });

  /** Also on a busy machine, whose server takes minutes to start. */
  const OFTEN = ["--health-interval=1s", "--health-start-period=600s", "--health-timeout=60s"];
  const started: string[] = [];
  const start = (...args: string[]) => {
    const id = container("--network=none", ...OFTEN, ...args);
    started.push(id);
    return id;
  };
  afterEach(() => {
    for (const id of started.splice(0)) removed(id);
  });
  const PLAIN = ["--env", "ROWLOCK_ALLOW_PLAINTEXT=true"];
  /** What a program of Node prints in a container of the image. */
  const printed = (program: string, tag = TAG) =>
    docker(["run", "--rm", "--network=none", "--entrypoint=node", tag, "--print", program]);
  /** Each file of the server in an image, with the digest of its content. */
  const filesOf = (tag: string) =>
    printed(
      `fs.globSync('/app/**').sort().filter((path) => fs.lstatSync(path).isFile())
        .map((path) => crypto.hash('sha256', fs.readFileSync(path)) + ' ' + path).join('\\n')`,
      tag,
    ).split("\n");

  test("is small, and has neither a shell nor a user with rights", () => {
    // Engines differ in what they count as the size of an image.
    const bytes = printed(
      "fs.globSync('/{app,etc,lib,lib64,usr,var}/**').reduce((sum, path) => sum + fs.lstatSync(path).size, 0)",
    );
    expect(Number(bytes)).toBeGreaterThan(100e6);
    expect(Number(bytes)).toBeLessThan(BYTES_MAX);
    expect(docker(["image", "inspect", "--format", "{{.Config.User}}", TAG])).toBe("1000:1000");
    expect(printed("['/bin/sh', '/usr/bin/env', '/usr/local/bin/npm'].filter(fs.existsSync)")).toBe("[]");
  });

  test("names the commit that it was built from", () => {
    expect(docker(["run", "--rm", TAG, "--version"])).toMatch(/^rowlock \d+\.\d+\.\d+\+0123456 /);
  });

  test("serves as it is, takes commands, holds a lock across a restart, and stops in good order", async () => {
    const id = start(...PLAIN, TAG);
    expect(await healthOf(id)).toBe("healthy");
    const run = ["rowlock", "run", "x", "--", "node", "--print", "'token ' + process.env.ROWLOCK_TOKEN"];
    expect(docker(["exec", id, ...run])).toBe("token 1");
    expect(docker(["exec", id, "rowlock", "acquire", "x", "--ttl=1h", "--owner=anna"])).toContain("LEASE");
    docker(["restart", "--time=30", id]);
    expect(await healthOf(id)).toBe("healthy");
    expect(() => docker(["exec", id, "rowlock", "run", "x", "--no-wait", "true"])).toThrow(/busy: anna/);
    expect(docker(["exec", id, "rowlock", "release", "x", "--force", "--reason=test"])).toContain("anna");
    expect(docker(["exec", id, ...run])).toBe("token 3");
    docker(["stop", "--time=30", id]);
    expect(docker(["inspect", "--format", "{{.State.ExitCode}}", id])).toBe("0");
    expect(logOf(id)).toContain('"msg":"stopped"');
  });

  test.each([
    ["a volume", ["--volume=/var/lib/rowlock"]],
    ["memory", ["--tmpfs=/var/lib/rowlock"]],
  ])(
    "serves any user on a read-only file system without capabilities, with the database in %s",
    async (_, data) => {
      const bound = ["--user=12345", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"];
      const id = start(...bound, ...data, ...PLAIN, TAG);
      expect(await healthOf(id)).toBe("healthy");
      expect(docker(["exec", id, "node", "--print", "fs.statSync('rowlock.db').uid"])).toBe("12345");
    },
  );

  test("reads the URL of its database from a file", async () => {
    const secret = join(scratch, "url");
    writeFileSync(secret, "sqlite:/var/lib/rowlock/by-file.db\n");
    chmodSync(scratch, 0o755);
    const mounted = `--volume=${secret}:/run/secrets/url:ro`;
    const id = start(mounted, "--env=ROWLOCK_DATABASE_URL_FILE=/run/secrets/url", ...PLAIN, TAG);
    expect(await healthOf(id)).toBe("healthy");
    expect(docker(["exec", id, "node", "--print", "fs.existsSync('by-file.db')"])).toBe("true");
  });

  test("lists all that it consists of", () => {
    const sbom = JSON.parse(printed(`fs.readFileSync('${SBOM}', 'utf8')`)) as {
      metadata: { component: object };
      components: { name: string; version: string; purl: string }[];
    };
    const listed = sbom.components.map(({ name, version }) => `${name}@${version}`);
    const installed = JSON.parse(
      printed(`JSON.stringify(fs.globSync('/app/node_modules/**/package.json')
        .filter((path) => /node_modules\\/(@[^/]+\\/)?[^/]+\\/package.json$/.test(path))
        .map((path) => JSON.parse(fs.readFileSync(path)))
        .map(({ name, version }) => name + '@' + version))`),
    ) as string[];
    expect(installed).toContainEqual(expect.stringMatching(/^@grpc\/grpc-js@/));
    const npms = sbom.components.flatMap(({ name, version, purl }) =>
      purl.startsWith("pkg:npm/") ? `${name}@${version}` : [],
    );
    expect(npms.sort()).toEqual([...new Set(installed)].sort());
    expect(listed).toContain(`node@${printed("process.versions.node")}`);
    expect(sbom.components.map(({ purl }) => purl)).toContainEqual(
      expect.stringMatching(/^pkg:deb\/debian\/libc6@/),
    );
    expect(sbom.metadata).toMatchObject({ component: { name: "rowlock", type: "application" } });
  });

  test(
    "has the same layers when it is built again, from a checkout of another time and other rights",
    () => {
      build(`${TAG}-again`, checkout("077"), "--no-cache");
      // Names the files that differ.
      expect(filesOf(`${TAG}-again`)).toEqual(filesOf(TAG));
      const layersOf = (tag: string) =>
        docker(["image", "inspect", "--format", "{{json .RootFS.Layers}}", tag]);
      expect(JSON.parse(layersOf(TAG)).length).toBeGreaterThanOrEqual(2);
      expect(layersOf(`${TAG}-again`)).toBe(layersOf(TAG));
    },
    BUILDING_MS,
  );

  const composeLack = composeLacks("mysql:9");
  test.skipIf(composeLack)(
    `serves over MySQL by compose.yaml${composeLack ? `, left out: ${composeLack}` : ""}`,
    () => {
      const ours = join(scratch, "ours.yaml");
      writeFileSync(ours, `services: { rowlock: { image: "${TAG}", ports: !reset [] } }`);
      const files = ["--file=compose.yaml", `--file=${ours}`];
      const compose = (...args: string[]) =>
        docker(["compose", `--project-name=rowlock-test-${process.pid}`, ...files, ...args], { cwd: root });
      try {
        compose("up", "--detach", "--wait", "--no-build", "mysql", "rowlock");
        const run = ["rowlock", "run", "x", "--", "node", "--print", "'token ' + process.env.ROWLOCK_TOKEN"];
        expect(compose("exec", "-T", "rowlock", ...run)).toBe("token 1");
        expect(compose("logs", "--no-log-prefix", "rowlock")).toContain('"product":"MySQL');
      } finally {
        compose("down", "--volumes", "--timeout=30");
      }
    },
    BUILDING_MS,
  );
});
