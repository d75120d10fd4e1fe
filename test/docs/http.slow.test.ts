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

/** What an answer must have that has the fields of the one in the page: the texts that are the same each time also with these values. */
function fieldsOf(shown = ""): Record<string, unknown> {
  return JSON.parse(shown, (key, value) => {
    if (["fencingToken", "version", "waited"].includes(key) || value === "…") return expect.any(String);
    return value;
  });
}

const UNSET_LIMIT = { newLimit: { case: "unsetLimit", value: {} } } as const;

const isFree = async () => (await server.client.shown("etl/load")).holderCount === 0;

test.skipIf(!has("curl"))(
  "curl takes, renews and releases a lock, and waits for it with its place told",
  async () => {
    const [define = "", renewAndRelease = "", wait = "", waitInQueue = "", confirm = ""] = blocks("sh");
    const [giveUp = "", setLimit = "", watchLocks = ""] = blocks("sh").slice(5);
    expect(blocks("sh")).toHaveLength(8);
    const head = define.replaceAll("http://127.0.0.1:9464", origin());
    const [server_, post, , acquire] = head.split("\n");
    const lines = (...more: string[]) => ["-ec", [server_, post, ...more].join("\n")];
    const taken = await run("sh", lines(acquire as string));
    const { lease } = JSON.parse(taken.out);
    const [shownLease, shownRenewed, shownLimit, shownError = ""] = blocks("json");
    expect(lease).toMatchObject(fieldsOf(shownLease).lease as object);
    expect(shownError).toContain("UNKNOWN_CLAIM");
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
    const [shownPosition, shownGranted, shownLocks] = PAGE.match(/(?<=^data: ).*$/gm) ?? [];
    expect(events).toMatchObject([fieldsOf(shownPosition), fieldsOf(shownGranted)]);
    const { leaseId } = events[1].granted;
    const confirmed = await run("sh", lines(confirm.replaceAll("…", leaseId)));
    expect(JSON.parse(confirmed.out)).toMatchObject(fieldsOf(shownRenewed));

    const limit = await run("sh", lines(setLimit));
    expect(JSON.parse(limit.out)).toMatchObject(fieldsOf(shownLimit));
    const watched = await run("sh", lines(watchLocks.replace("curl ", "curl --max-time 2 ")));
    expect(JSON.parse(watched.out.match(/(?<=^data: ).*$/m)?.[0] ?? "")).toMatchObject(fieldsOf(shownLocks));
    await server.client.call("setLimit", { target: { case: "name", value: "etl/load" }, ...UNSET_LIMIT });

    const left = await run("sh", lines(waitInQueue.replace("curl ", "curl --max-time 2 ")));
    const { ticketId } = JSON.parse(left.out.match(/(?<=^data: ).*$/m)?.[0] ?? "").position;
    expect((await server.client.shown("etl/load")).waiterCount).toBe(1);
    const givenUp = await run("sh", lines(giveUp.replaceAll("…", ticketId)));
    expect(JSON.parse(givenUp.out)).toEqual({ released: true });
    expect((await server.client.shown("etl/load")).waiterCount).toBe(0);
    await server.client.call("release", { leaseId });
  },
  20_000,
);

describe("JavaScript", () => {
  type WithLock = (
    name: string,
    work: (lease: { readonly leaseId: string }, lost: AbortSignal) => unknown,
    onPosition: (ahead: number) => void,
    signal?: AbortSignal,
  ) => Promise<unknown>;

  const never = () => expect.unreachable();

  /** `renewalMs`: how often it renews. */
  async function program(renewalMs = 20_000): Promise<WithLock> {
    const [code = ""] = blocks("js");
    const server_ = code.replace("http://127.0.0.1:8080", origin()).replace("20_000", String(renewalMs));
    const module = `${server_}\nexport { withLock };`;
    return (await import(`data:text/javascript,${encodeURIComponent(module)}`)).withLock;
  }

  test("waits with its place told, works, and gives the lock back", async () => {
    const withLock = await program();
    const places: number[] = [];
    const result = await whileHeld(() =>
      withLock(
        "etl/load",
        async () => [await isFree(), "done"],
        (ahead) => places.push(ahead),
      ),
    );
    expect([result, places, await isFree()]).toEqual([[false, "done"], [0], true]);
    const failed = withLock("", never, never);
    await expect(failed).rejects.toThrow(/name/);
  });

  test("tells its work to stop when the lock is lost, and rejects", async () => {
    const withLock = await program(50);
    let stopped: AbortSignal | undefined;
    const working = withLock(
      "etl/load",
      async ({ leaseId }, lost) => {
        stopped = lost;
        await server.client.call("release", { leaseId });
        // Work that does not heed the signal.
        await new Promise(() => {});
      },
      () => {},
    );
    await expect(working).rejects.toThrow(/Renew: The claim has ended/);
    expect(stopped?.aborted).toBe(true);
  });

  test("gives up its place at once when it does not wait any more", async () => {
    const withLock = await program();
    const { leaseId } = await server.client.lease({ name: "etl/load" });
    const waiting = new AbortController();
    const waits = withLock("etl/load", never, () => waiting.abort(), waiting.signal);
    await expect(waits).rejects.toThrow(/abort/);
    expect((await server.client.shown("etl/load")).waiterCount).toBe(0);
    await server.client.call("release", { leaseId });
  });
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
