// Runs the programs of docs/http.md: curl and PHP where they are installed, C# with the .NET that the environment names. The one for
// browsers runs here in Node, and in a browser in test/page/browser.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type DoorStage, startDoor } from "../http/door-stage.ts";
import { startServer, type TestServer } from "../support/harness.ts";

const PAGE = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, "g"))].map(
    ([, code]) => code as string,
  );
}

const { ROWLOCK_TEST_DOTNET: dotnet } = process.env;
const has = (program: string) => spawnSync(program, ["--version"]).status === 0;

let server: TestServer;
let door: DoorStage;
let folder: string;
beforeAll(async () => {
  server = await startServer();
  door = await startDoor(server.grpc);
  folder = mkdtempSync(join(tmpdir(), "rowlock-http-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await door.stop();
  await server.stop();
});

const origin = () => new URL(door.url).origin;

async function run(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ROWLOCK_HTTP: origin(), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = [text(child.stdout), text(child.stderr)];
  const code = await new Promise((resolve) => child.once("close", resolve));
  return { code, out: await out, err: await err };
}

/** Holds the lock of the page until the program waits for it. */
async function whileHeld<Result>(begin: () => Promise<Result>): Promise<Result> {
  const { leaseId } = await server.client.lease({ name: "etl/load" });
  const running = begin();
  await expect.poll(async () => (await server.client.shown("etl/load")).waiterCount).toBe(1);
  await server.client.call("release", { leaseId });
  return await running;
}

const isFree = async () => (await server.client.shown("etl/load")).holderCount === 0;

test.skipIf(!has("curl"))(
  "curl takes, renews and releases a lock, and waits for it with its place told",
  async () => {
    const [define = "", renewAndRelease = "", wait = "", waitInQueue = ""] = blocks("sh");
    expect(blocks("sh")).toHaveLength(4);
    const head = define.replaceAll("http://127.0.0.1:9464", origin());
    const [server_, post, , acquire] = head.split("\n");
    const lines = (...more: string[]) => ["-ec", [server_, post, ...more].join("\n")];
    const taken = await run("sh", lines(acquire as string));
    const { lease } = JSON.parse(taken.out);
    const [, shown = ""] = blocks("json");
    expect(Object.keys(lease)).toEqual(
      expect.arrayContaining(Object.keys(JSON.parse(blocks("json")[0] ?? "").lease)),
    );
    expect(shown).toContain("UNKNOWN_CLAIM");
    const ended = await run(
      "sh",
      lines(renewAndRelease.replaceAll("…", lease.leaseId).replace("\n", "\necho\n")),
    );
    const [renewed, released] = ended.out.split("\n").map((line) => JSON.parse(line));
    expect([ended.code, released]).toMatchObject([0, { released: true }]);
    expect(renewed).toMatchObject({ lease: { ttl: "60s" } });

    const waited = await whileHeld(() => run("sh", lines(wait)));
    const late = JSON.parse(waited.out).lease;
    expect(late).toMatchObject({ provisional: true });
    await server.client.call("release", { leaseId: late.leaseId });

    const told = await whileHeld(() => run("sh", lines(waitInQueue)));
    const events = told.out
      .trim()
      .split("\n\n")
      .map((event) => JSON.parse(event.replace("data: ", "")));
    const [first, last] = PAGE.match(/(?<=^data: ).*$/gm) ?? [];
    for (const [at, line] of [first, last].entries())
      expect(Object.keys(Object.values(events.at(at && -1))[0] as object)).toEqual(
        expect.arrayContaining(Object.keys(Object.values(JSON.parse(line ?? ""))[0] as object)),
      );
    await server.client.call("release", { leaseId: events.at(-1).granted.leaseId });
  },
);

test("JavaScript waits with its place told, works, and gives the lock back", async () => {
  const [code = ""] = blocks("js");
  const module = `${code.replace("http://127.0.0.1:8080", origin())}\nexport { withLock };`;
  const { withLock } = (await import(`data:text/javascript,${encodeURIComponent(module)}`)) as {
    withLock(
      name: string,
      work: (lease: object) => unknown,
      onPosition: (ahead: number) => void,
    ): Promise<unknown>;
  };
  const places: number[] = [];
  const result = await whileHeld(() =>
    withLock(
      "etl/load",
      async () => [await isFree(), "done"],
      (ahead) => places.push(ahead),
    ),
  );
  expect([result, places, await isFree()]).toEqual([[false, "done"], [0], true]);
  await expect(
    withLock(
      "",
      () => {},
      () => {},
    ),
  ).rejects.toThrow(/name/);
});

describe.skipIf(!has("php"))("PHP", () => {
  test("waits, works and gives the lock back", async () => {
    writeFileSync(join(folder, "lock.php"), blocks("php")[0] as string);
    const { code, out, err } = await whileHeld(() => run("php", ["lock.php"]));
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^part one with token \d+\npart two with token \d+\n$/);
    expect(await isFree()).toBe(true);
  });
});

describe.skipIf(dotnet === undefined)("C#", () => {
  test("waits, works and gives the lock back", async () => {
    const app = join(folder, "cs");
    mkdirSync(app);
    writeFileSync(join(app, "Program.cs"), blocks("cs")[0] as string);
    const project = "<TargetFramework>netcoreapp3.1</TargetFramework><OutputType>Exe</OutputType>";
    writeFileSync(
      join(app, "cs.csproj"),
      `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup>${project}</PropertyGroup></Project>`,
    );
    const env = {
      DOTNET_CLI_TELEMETRY_OPTOUT: "1",
      DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: "1",
      DOTNET_CLI_HOME: folder,
    };
    const built = await run(dotnet as string, ["build", app, "-o", join(folder, "out")], env);
    expect([built.code, built.out]).toEqual([0, expect.stringMatching(/ 0 Error/)]);
    const { code, out, err } = await whileHeld(() =>
      run(dotnet as string, [join(folder, "out", "cs.dll")], env),
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^works with token \d+\n$/);
    expect(await isFree()).toBe(true);
  });
});
