// The command line without a process: help, mistakes, and the commands that need only a database.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, test } from "vitest";
import { describeSettings } from "../../server/config/settings.ts";
import { openStore } from "../../server/storage/open.ts";
import { REPLICA_KEPT_US } from "../../server/storage/store.ts";
import { selfSignedCertificate } from "../process/certificate.ts";
import { ranInProcess } from "./in-process.ts";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const rowlock = ranInProcess;

function newDatabase(): string {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-cli-"));
  folders.push(folder);
  return join(folder, "test.db");
}

describe("help", () => {
  test("of run has the exit codes that the documents have", async () => {
    const document = readFileSync(join(import.meta.dirname, "../../docs/shell.md"), "utf8");
    const [, table = ""] = /## Exit codes\n([\s\S]*?)\n##/.exec(document) ?? [];
    const { out } = await rowlock(["run", "--help"]);
    const [, help = ""] = /Exit code: ([\s\S]*?)\n\n/.exec(out) ?? [];
    const codesIn = (text: string, line: RegExp) => [...text.matchAll(line)].map(([, code]) => code);
    expect(codesIn(help, /^ {2}(\d+) /gm)).toEqual(codesIn(table, /^\| (\d+) \|/gm));
  });

  test.each([[[]], [["--help"]], [["help"]]])("explains everything, for %j", async (args) => {
    const { code, out } = await rowlock(args);
    expect(code).toBe(0);
    for (const command of ["serve", "migrate", "doctor", "Examples:"]) expect(out).toContain(command);
  });

  test.each([
    [["serve", "--help"], "rowlock serve --config"],
    [["migrate", "--help"], "rowlock migrate status"],
    [["migrate", "up", "--help"], "Exit code:"],
    [["migrate", "status", "--help"], "Exit code:"],
    [["doctor", "--help"], "Exit code:"],
    [["help", "run"], "rowlock run nightly"],
    ..."run ls show watch why history top limit acquire renew release completion"
      .split(" ")
      .map((command): [string[], string] => [[command, "--help"], `rowlock ${command}`]),
  ])("gives an example of %j", async (args, example) => {
    const { code, out, err } = await rowlock(args);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("Examples:");
    expect(out).toContain(example);
  });

  test.each("run acquire capture ls watch history top".split(" "))(
    "of %s shows each default once, in the form that a flag takes",
    async (command) => {
      const { out } = await rowlock([command, "--help"]);
      for (const option of out.split(/\n(?= {2}-)/)) {
        expect(option.match(/default/g)?.length ?? 0, option).toBeLessThanOrEqual(1);
        expect(option, "milliseconds").not.toMatch(/default:? \d{4,}/);
      }
    },
  );

  test("has a flag of serve for each setting", async () => {
    const { out } = await rowlock(["serve", "--help"]);
    for (const { flag, placeholder } of describeSettings()) expect(out).toContain(`${flag} ${placeholder}`);
  });

  test("the version names the Node that runs it", async () => {
    expect(await rowlock(["--version"])).toEqual({ code: 0, out: "rowlock 1.2.3 (Node 26.0.0)\n", err: "" });
  });
});

describe("a mistake", () => {
  test("in a command, flag or argument fails and names the help", async () => {
    for (const args of [
      ["serv"],
      ["help", "serv"],
      ["serve", "--listn", "x"],
      ["doctor", "now"],
      ["migrate", "upp"],
    ]) {
      const { code, out, err } = await rowlock(args);
      expect([code, out]).toEqual([64, ""]);
      expect(err).toContain("--help");
    }
    expect((await rowlock(["help", "serv"])).err).toContain("unknown command 'serv'");
    expect((await rowlock(["serve", "--listn", "x"])).err).toContain("Did you mean --listen?");
  });

  test("in several settings is reported with all the others at once", async () => {
    const { code, out, err } = await rowlock(["serve", "--grace", "ten", "--allow-plaintext"], {
      ROWLOCK_QEUE_MAX: "1",
    });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/^rowlock cannot start: 2 of its settings are wrong\.\n {2}- .*\n {2}- .*\n$/);
    expect(err).toContain("flag --grace");
    expect(err).toContain("did you mean ROWLOCK_QUEUE_MAX?");
  });

  test("in the database is reported without its password", async () => {
    const { code, err } = await rowlock(["doctor"], { ROWLOCK_DATABASE_URL: "mysql://root:hush@db" });
    expect(code).toBe(2);
    expect(err).toContain("ROWLOCK_DATABASE_URL");
    expect(err).not.toContain("hush");
  });
});

describe("migrate", () => {
  test("goes from pending to applied, and can be repeated", async () => {
    const env = { ROWLOCK_DATABASE_URL: `sqlite:${newDatabase()}` };
    const before = await rowlock(["migrate", "status"], env);
    expect(before.code).toBe(1);
    expect(before.out).toMatch(/^pending {2}\S+\n/);
    const up = await rowlock(["migrate", "up"], env);
    expect(up.code).toBe(0);
    expect(up.out).toMatch(/^ran \S+\n.*The schema is up to date\.\n$/s);
    expect(await rowlock(["migrate", "up"], env)).toMatchObject({
      code: 0,
      out: "The schema is up to date already.\n",
    });
    const after = await rowlock(["migrate", "status"], env);
    expect(after).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^applied {2}\S+\n.*is up to date\.\n$/s),
    });
  });

  test.each([
    [
      "made its schema",
      "INSERT INTO rowlock_migration (name, migrated_at) VALUES ('0999-later', 0)",
      "0999-later",
    ],
    [
      "rules this one out",
      "UPDATE rowlock_meta SET level_min = 99, level_min_by = CAST('9.9.9' AS BLOB)",
      "version 9.9.9",
    ],
  ])("is refused, as a record of a restore is, if a later version %s", async (_what, statement, names) => {
    const path = newDatabase();
    const env = { ROWLOCK_DATABASE_URL: `sqlite:${path}` };
    await rowlock(["migrate", "up"], env);
    const database = new DatabaseSync(path);
    database.exec(statement);
    const before = database.prepare("SELECT * FROM rowlock_meta").get();
    database.close();
    for (const command of [
      ["migrate", "up"],
      ["restored", "--pause", "1s"],
    ])
      expect(await rowlock(command, env)).toEqual({ code: 1, out: "", err: expect.stringContaining(names) });
    const after = new DatabaseSync(path);
    expect(after.prepare("SELECT * FROM rowlock_meta").get()).toEqual(before);
    after.close();
  });

  test("the flag beats the environment", async () => {
    const env = { ROWLOCK_DATABASE_URL: "mysql://nobody@127.0.0.1:1/none" };
    const { code } = await rowlock(["migrate", "up", "--database-url", `sqlite:${newDatabase()}`], env);
    expect(code).toBe(0);
  });
});

describe("policy check", () => {
  const policy = `
rules: [{ who: "token:*", may: use, on: "etl/*" }, { who: token:ops, may: head_start, on: "etl/*" }]
quotas: [{ who: token:nightly, claims: 5, records: 3 }]
`;
  const check = (...args: string[]) => rowlock(["policy", "check", "p.yaml", ...args], {}, () => policy);
  const ask = ["--may", "acquire", "--on"];

  test("answers with the rule and the quota of the caller", async () => {
    expect(await check("--as", "token:nightly", ...ask, "etl/a")).toEqual({
      code: 0,
      out: expect.stringMatching(/^yes: the rule in line 2 .*\nquota: claims 5, records 3\n$/),
      err: "",
    });
    expect(await check("--as", "token:other", ...ask, "web/a")).toEqual({
      code: 1,
      out: expect.stringMatching(/^no: no rule .*\nquota: none\n$/),
      err: "",
    });
  });

  test("knows what an Acquire needs for more than the lock", async () => {
    for (const [who, code] of [
      ["token:ops", 0],
      ["token:other", 1],
    ] as const)
      expect(await check("--as", who, "--may", "head_start", "--on", "etl/a")).toMatchObject({
        code,
        err: "",
      });
  });

  test("without a question only reads the file", async () => {
    expect(await check()).toEqual({ code: 0, out: "p.yaml has no faults.\n", err: "" });
  });
});

describe("doctor", () => {
  test("reports that there is no database yet", async () => {
    const url = `sqlite:${newDatabase()}`;
    const { code, err } = await rowlock(["doctor", "--database-url", url]);
    expect(code).toBe(2);
    expect(err).toContain(`There is no Rowlock database yet at ${url}: `);
  });

  test("finds a new database sound", async () => {
    const url = `sqlite:${newDatabase()}`;
    await rowlock(["migrate", "up", "--database-url", url]);
    const { code, out, err } = await rowlock(["doctor", "--database-url", url]);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(
      /ok {7}schema.*ok {7}durability.*ok {7}rights.*ok {7}invariants.*no errors, no warnings\n$/s,
    );
  });

  test("warns of two servers that say that they are reached at one address", async () => {
    const url = `sqlite:${newDatabase()}`;
    await rowlock(["migrate", "up", "--database-url", url]);
    const store = await openStore(url);
    const register = (id: bigint, address: string) =>
      store.register({ id, address, version: "1.2.3", secret: "" }, REPLICA_KEPT_US, 0n);
    await register(1n, "db-1:50051");
    await register(2n, "db-2:50051");
    await store.close();
    expect((await rowlock(["doctor", "--database-url", url])).out).toContain("no warnings");
    const again = await openStore(url);
    await again.register(
      { id: 3n, address: "db-1:50051", version: "1.2.3", secret: "" },
      REPLICA_KEPT_US,
      0n,
    );
    await again.close();
    const { code, out } = await rowlock(["doctor", "--database-url", url]);
    expect(code).toBe(0);
    expect(out).toMatch(/^warning {2}servers: 2 servers say .* at db-1:50051: .* Set ROWLOCK_ADVERTISE /m);
    expect(out).toContain("no errors, 1 warning");
  });

  test("checks the files that the settings name, whatever the database says", async () => {
    const url = `sqlite:${newDatabase()}`;
    const { cert, key } = selfSignedCertificate();
    const files: Record<string, string> = { crt: cert, key, junk: "junk" };
    const read = (path: string) => files[path] ?? "";
    const named = ["--tls-cert", "crt", "--tls-key", "key", "--database-url", url];
    const early = await rowlock(["doctor", ...named, "--metrics-token-file", "junk"], {}, read);
    expect(early).toMatchObject({
      code: 2,
      out: expect.stringMatching(/^error {4}files: Line 1 of ROWLOCK_MET/m),
    });
    await rowlock(["migrate", "up", "--database-url", url]);
    const sound = await rowlock(["doctor", ...named], {}, read);
    expect(sound).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ok {7}files: certificate \(crt, key\)$/m),
    });
    const broken = await rowlock(["doctor", ...named], { ROWLOCK_TLS_CLIENT_CA: "junk" }, read);
    expect(broken.code).toBe(1);
    expect(broken.out).toMatch(
      /^error {4}files: ROWLOCK_TLS_CLIENT_CA does not hold certificates.*\n1 error/m,
    );
    // Half of the settings.
    expect(await rowlock(["doctor", ...named.slice(2)], {}, read)).toMatchObject({ code: 1 });
  });

  test("finds counters that drifted", async () => {
    const path = newDatabase();
    const args = ["--database-url", `sqlite:${path}`];
    await rowlock(["migrate", "up", ...args]);
    plantDrift(path);
    const { code, out } = await rowlock(["doctor", ...args]);
    expect(code).toBe(1);
    expect(out).toMatch(/^error {4}counters: .*drifted/m);
    expect(out).toMatch(/\d+ errors?, no warnings\n$/);
  });

  test("reports that a server has the file", async () => {
    const path = newDatabase();
    const args = ["--database-url", `sqlite:${path}`];
    await rowlock(["migrate", "up", ...args]);
    const server = new DatabaseSync(path);
    server.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
    const { code, err } = await rowlock(["doctor", ...args]);
    server.close();
    expect(code).toBe(2);
    expect(err).toContain("in use");
  });
});

/** Makes a guard row count a holder that has no row. */
function plantDrift(path: string): void {
  const database = new DatabaseSync(path);
  database.exec("INSERT INTO rowlock_lock (name) VALUES (CAST('drifted' AS BLOB))");
  database.exec("UPDATE rowlock_lock SET holders = 1, held_permits = 1");
  database.close();
}
