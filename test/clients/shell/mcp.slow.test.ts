// `rowlock mcp`, played by the client of the protocol's own authors: two agents in processes of their own share locks.

import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startServer, type TestServer } from "../../support/harness.ts";

const MAIN = join(import.meta.dirname, "../../../server/main.ts");

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

interface Told {
  readonly text: string;
  readonly isError: boolean;
}

class Agent {
  readonly client: Client;
  readonly #transport: StdioClientTransport;

  constructor(name: string, flags: readonly string[] = []) {
    this.client = new Client({ name, version: "1" });
    const args = [MAIN, "mcp", "--addr", server.address, ...flags];
    this.#transport = new StdioClientTransport({ command: process.execPath, args });
  }

  get pid(): number {
    return this.#transport.pid as number;
  }

  start(): Promise<void> {
    return this.client.connect(this.#transport);
  }

  async use(tool: string, args: Record<string, unknown> = {}): Promise<Told> {
    const { content, isError } = await this.client.callTool({ name: tool, arguments: args });
    const [first] = content as { readonly text: string }[];
    return { text: first?.text ?? "", isError: isError === true };
  }

  async says(tool: string, args?: Record<string, unknown>): Promise<string> {
    return (await this.use(tool, args)).text;
  }
}

async function agent(name: string, flags: readonly string[] = []): Promise<Agent> {
  const started = new Agent(name, flags);
  onTestFinished(() => started.client.close());
  await started.start();
  return started;
}

const holders = async (name: string) => (await server.client.shown(name)).holderCount;

test("an agent learns what the tools are for", async () => {
  const anna = await agent("anna");
  expect(anna.client.getInstructions()).toMatch(/acquire its lock/);
  const { tools } = await anna.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["acquire", "release", "mine", "who", "why", "list"]);
  for (const { description, inputSchema } of tools)
    expect([description, inputSchema.type]).toEqual([expect.stringMatching(/\w/), "object"]);
  const [acquire] = tools;
  expect(acquire?.inputSchema.required).toEqual(["name"]);
});

test("two agents take turns: one waits, keeps its place between calls, and gets the lock after the other", async () => {
  const [anna, ben] = await Promise.all([agent("anna"), agent("ben")]);
  const job = { name: "deploy/shop", reason: "version 7" };
  expect(await anna.says("acquire", job)).toMatch(
    /^You hold "deploy\/shop" now, with the fencing token 1\. /,
  );
  expect(await anna.says("acquire", job)).toMatch(
    /^You hold "deploy\/shop", with the fencing token 1\. Release it/,
  );
  expect(await anna.says("why", { name: "deploy/shop" })).toMatch(/^You hold "deploy\/shop" yourself/);
  // Until the server has told it its place.
  await expect
    .poll(() => ben.says("acquire", { ...job, wait_seconds: 0.2 }))
    .toMatch(
      /^Not yet: you are next in the queue, and have waited [1-9]\d* \w+, for "deploy\/shop"\.\n.*1 holds it, 1 waits\.\n- anna on .* has held it for .*: version 7\n.*\nYour place is kept for 5 min from now, .* Call acquire again/,
    );
  expect(await ben.says("who", { name: "deploy/shop" })).toMatch(
    /^"deploy\/shop": 1 holds it, 1 waits\.\n- anna on .* has held it for .*: version 7\n- ben on .* has waited for .*: version 7$/,
  );
  expect(await ben.says("why", { name: "deploy/shop" })).toMatch(
    /held by anna on .*\nYou wait for it: you are next/,
  );
  expect(await ben.says("list", { prefix: "deploy/" })).toMatch(
    /^- deploy\/shop: held by anna on .*, 1 waiting$/,
  );
  expect(await ben.says("mine")).toMatch(/^- you wait for "deploy\/shop": you are next/);
  const waits = ben.says("acquire", { ...job, wait_seconds: 20 });
  expect(await anna.says("release", { name: "deploy/shop" })).toBe('Released "deploy/shop".');
  expect(await waits).toMatch(/^You hold "deploy\/shop" now, with the fencing token 2\. /);
  expect(await ben.says("mine")).toBe('- you hold "deploy/shop" (fencing token 2)');
  expect(await anna.says("release", { name: "deploy/shop" })).toMatch(/^You neither hold .* nor wait for it/);
});

test("a path keeps others from it and from the folders above it, and not from its neighbours", async () => {
  const [anna, ben] = await Promise.all([agent("anna"), agent("ben")]);
  const now = { path: true, wait_seconds: 0 };
  expect(await anna.says("acquire", { ...now, wait_seconds: 5, name: "repo/src/api.ts" })).toMatch(
    /^You hold/,
  );
  expect(await ben.says("acquire", { ...now, name: "repo/src/api.ts" })).toMatch(/^Not yet/);
  await ben.says("release", { name: "repo/src/api.ts" });
  expect(await ben.says("acquire", { ...now, name: "repo/src" })).toMatch(/^Not yet/);
  expect(await ben.says("who", { name: "repo/src" })).toMatch(
    /- anna on .*\(beside others, perhaps for something below it\)/,
  );
  expect(await ben.says("list", { prefix: "repo/src" })).toMatch(
    /^- repo\/src: held by anna on .* \(beside others, perhaps /,
  );
  await ben.says("release", { name: "repo/src" });
  expect(await ben.says("acquire", { ...now, wait_seconds: 5, name: "repo/src/page.ts" })).toMatch(
    /^You hold/,
  );
  for (const name of ["/repo/src", "repo/../x", "repo//x"])
    expect(await ben.says("acquire", { ...now, name })).toMatch(/^Write the path as all do/);
  expect(await ben.says("acquire", { ...now, name: "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q" })).toMatch(
    /more than 15 folders above it/,
  );
});

test("a wait for a path keeps nobody from the paths beside it", async () => {
  const [anna, ben, cleo] = await Promise.all([agent("anna"), agent("ben"), agent("cleo")]);
  const path = { path: true, wait_seconds: 0.1 };
  await anna.says("acquire", { ...path, name: "docs/a.md", wait_seconds: 5 });
  await expect
    .poll(() => ben.says("acquire", { ...path, name: "docs/a.md" }))
    .toMatch(/^Not yet: you are next/);
  expect(await ben.says("why", { name: "docs/a.md", path: true })).toMatch(/\nYou wait for it: you are next/);
  expect(await cleo.says("acquire", { ...path, name: "docs/b.md", wait_seconds: 5 })).toMatch(/^You hold/);
  // Who wants the folder alone comes after those who are below it, and before those who come later.
  expect(await cleo.says("acquire", { ...path, name: "docs" })).toMatch(
    /^You have to do with "docs\/b\.md" already/,
  );
  expect(await cleo.says("release", { name: "docs/b.md" })).toBe('Released "docs/b.md".');
  expect(await cleo.says("acquire", { ...path, name: "docs" })).toMatch(/^Not yet/);
  expect(await anna.says("release", { name: "docs/a.md" })).toMatch(/^Released/);
  await expect.poll(() => ben.says("mine")).toMatch(/you hold "docs\/a\.md"/);
  await ben.says("release", { name: "docs/a.md" });
  await expect.poll(() => cleo.says("mine")).toMatch(/you hold "docs"/);
});

test("who and why of a path tell of a folder above it that somebody has alone", async () => {
  const [anna, ben] = await Promise.all([agent("anna"), agent("ben")]);
  const path = { name: "shop/src/api.ts", path: true };
  for (const [tool, free] of [
    ["who", /^Nobody holds "shop\/src\/api\.ts" or a folder above it alone, or waits for it\.$/],
    ["why", /^free/],
  ] as const)
    expect(await ben.says(tool, path)).toMatch(free);
  await anna.says("acquire", { name: "shop/src", path: true, reason: "a rework" });
  const line = '"shop\\/src": 1 holds it, 0 wait\\.\\n- anna on .* has held it for .*: a rework';
  expect(await ben.says("who", path)).toMatch(
    new RegExp(`^Nobody holds "shop/src/api.ts" itself\\.\\n${line}$`),
  );
  expect(await ben.says("why", path)).toMatch(
    new RegExp(
      `^A request for "shop/src/api.ts" would wait for a folder above it\\.\\n${line}\\nTo get it, call acquire`,
    ),
  );
  expect(await ben.says("acquire", { ...path, wait_seconds: 0.1 })).toMatch(
    new RegExp(`^Not yet.*\\n[\\s\\S]*${line}\\n`),
  );
});

test("a lock that an operator has ended is told with the next answer", async () => {
  const anna = await agent("anna");
  await anna.says("acquire", { name: "taken" });
  await server.client.force("taken", "the agent hangs");
  await expect
    .poll(() => anna.says("mine"))
    .toMatch(/^You have lost "taken", and somebody else may have it now: stop/);
  expect(await anna.says("mine")).toBe("You hold nothing, and wait for nothing.");
});

test("what a server refuses is told in a sentence, and what is no name in the words of the protocol", async () => {
  const anna = await agent("anna");
  await server.client.limit("two", 2);
  expect(await anna.says("acquire", { name: "two", permits: 3 })).toMatch(
    /^"two" was not acquired \(NEVER_FITS\): 3 permits of "two" can never be granted/,
  );
  for (const wrong of [{ name: "" }, { name: "two", folder: true }])
    expect(await anna.use("acquire", wrong)).toMatchObject({ isError: true });
});

test("an agent that ends gives its locks back at once, with its input or by a signal", async () => {
  const anna = await agent("anna");
  await anna.says("acquire", { name: "ends" });
  await anna.client.close();
  await expect.poll(() => holders("ends")).toBe(0);

  const ben = await agent("ben", ["--owner", "the release agent"]);
  await ben.says("acquire", { name: "ends" });
  expect((await server.client.shown("ends")).holders).toMatchObject([{ owner: "the release agent" }]);
  process.kill(ben.pid, "SIGTERM");
  await expect.poll(() => holders("ends")).toBe(0);
});
