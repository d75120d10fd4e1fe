// The document about Terraform, with a real one: two runs on one state take turns, and who comes second is told who has it. The state
// is a resource that is built in, so nothing is fetched.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DoorStage, startDoor } from "../http/door-stage.ts";
import { startServer, type TestServer } from "../support/harness.ts";
import { knownCallers } from "../support/known-callers.ts";

const TERRAFORM = process.env.ROWLOCK_TEST_TERRAFORM ?? "terraform";
const hasTerraform = spawnSync(TERRAFORM, ["version"]).status === 0;
const POLICY = `
rules:
  - { who: token:ci, may: [read, use, operate], on: terraform/* }
`;
const { access, tokens } = knownCallers(["ci"], POLICY);

/** `apply` goes on for as long as the file `hold` is there, after it has made the file `begun`. */
const CONFIG = `
terraform {
  backend "http" {}
}
variable "hold" {}
resource "terraform_data" "shop" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "touch \${var.hold}.begun; while [ -e \${var.hold} ]; do sleep 0.05; done"
  }
}
`;

/** Keeps states as the backend sends them. */
class States {
  /** Who has called, by their credentials. */
  readonly callers = new Set<string | undefined>();
  readonly #kept = new Map<string, Buffer>();
  readonly #server = createServer(async (request, response) => {
    // A write has the lock's id after the path.
    const [path = ""] = request.url?.split("?") ?? [];
    this.callers.add(request.headers.authorization);
    if (request.method === "POST") this.#kept.set(path, await buffer(request));
    const state = this.#kept.get(path);
    response.writeHead(state ? 200 : 404).end(request.method === "GET" ? state : undefined);
  });
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
  of(path: string) {
    return JSON.parse(this.#kept.get(path)?.toString() ?? "null");
  }
  async stop(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe.skipIf(!hasTerraform)("Terraform", () => {
  let server: TestServer;
  let door: DoorStage;
  let folder: string;
  const states = new States();
  const running = new Set<ChildProcess>();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "rowlock-terraform-"));
    server = await startServer();
    door = await startDoor(server.grpc, [], access);
    await states.start();
  });
  afterAll(async () => {
    for (const child of running) child.kill("SIGKILL");
    await states.stop();
    await door.stop();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  /** A checkout of the configuration, whose locks are asked for with `query`. */
  async function checkout(name: string, query: string, isTokenInAddress = false) {
    const cwd = join(folder, name);
    const hold = join(folder, `${name}.hold`);
    const env = {
      ...process.env,
      ...(!isTokenInAddress && { TF_HTTP_USERNAME: "anybody", TF_HTTP_PASSWORD: tokens.ci }),
      TF_VAR_hold: hold,
      TF_IN_AUTOMATION: "1",
    };
    const run = (...args: string[]) => {
      const child = spawn(TERRAFORM, [...args, "-no-color"], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
      running.add(child);
      let said = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
      return new Promise<[code: number | null, said: string]>((resolve) =>
        child.once("close", (code) => {
          running.delete(child);
          resolve([code, said]);
        }),
      );
    };
    const address = new URL(`/terraform/shop${query}`, door.url);
    if (isTokenInAddress) Object.assign(address, { username: "anybody", password: tokens.ci });
    mkdirSync(cwd);
    writeFileSync(join(cwd, "main.tf"), CONFIG);
    const set = { address: `${states.url}/shop`, lock_address: address.href, unlock_address: address.href };
    const settings = Object.entries(set).map(([key, value]) => `-backend-config=${key}=${value}`);
    expect(await run("init", "-input=false", ...settings)).toMatchObject([0, expect.any(String)]);
    return {
      run,
      hold: () => writeFileSync(hold, ""),
      begun: () => existsSync(`${hold}.begun`),
      letGo: () => rmSync(hold),
    };
  }
  const shown = () => server.client.shown("terraform/shop");

  test("runs take turns; who comes second is told who has it, or waits in the queue; a lock is unlocked by force", async () => {
    const [anna, ben] = [await checkout("anna", ""), await checkout("ben", "?wait=1m&ttl=2h")];

    anna.hold();
    const first = anna.run("apply", "-auto-approve");
    await expect.poll(anna.begun).toBe(true);
    const [holder] = (await shown()).holders;
    expect(holder).toMatchObject({ principal: "token:ci", labels: { operation: "OperationTypeApply" } });
    const id = holder?.labels.terraform_id ?? "";

    const [code, said] = await anna.run("plan");
    expect(code).toBe(1);
    expect(said).toContain("Error acquiring the state lock");
    expect(said.replaceAll(/\s+/g, " ")).toContain(
      `already locked: ID=${id} (${holder?.owner}, OperationTypeApply, since `,
    );

    const second = ben.run("apply", "-auto-approve");
    await expect.poll(async () => (await shown()).waiterCount).toBe(1);
    expect(ben.begun()).toBe(false);
    anna.letGo();
    expect(await first).toMatchObject([0, expect.stringContaining("Apply complete")]);
    expect(await second).toMatchObject([0, expect.stringContaining("Apply complete")]);
    expect(await shown()).toMatchObject({ holderCount: 0, waiterCount: 0, lastFencingToken: 2n });
    expect(states.of("/shop").resources).toHaveLength(1);

    await server.client.lease({ name: "terraform/shop", terms: { owner: "a laptop that died" } });
    const [, told] = await anna.run("plan");
    const [, theirs = ""] = /ID=(\S+)\s+\(a laptop that died,/.exec(told) ?? [];
    expect(await anna.run("force-unlock", "-force", theirs)).toMatchObject([0, expect.any(String)]);
    expect(await shown()).toMatchObject({ holderCount: 0 });
  });

  test("a token in the address of the locks is not sent to where the state is", async () => {
    states.callers.clear();
    const cleo = await checkout("cleo", "?wait=1s", true);
    expect(await cleo.run("apply", "-auto-approve")).toMatchObject([
      0,
      expect.stringContaining("Apply complete"),
    ]);
    expect([...states.callers]).toEqual([undefined]);
  });

  test("a wait that was in vain is tried again until -lock-timeout", async () => {
    const dan = await checkout("dan", "?wait=1s");
    const { leaseId } = await server.client.lease({ name: "terraform/shop", terms: { owner: "another" } });
    const run = dan.run("apply", "-auto-approve", "-lock-timeout=60s");
    await expect.poll(async () => (await shown()).waiterCount).toBe(1);
    await expect.poll(async () => (await shown()).waiterCount).toBe(0);
    await server.client.call("release", { leaseId });
    expect(await run).toMatchObject([0, expect.stringContaining("Apply complete")]);
  });
});
