// Servers and commands that log in to their database over TLS with a password from a file, which changes while a server
// runs. The database servers are private to this file, because it ends connections and changes passwords.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FreshDatabase, freshDatabase, reportLeftOut } from "../support/database.ts";
import { ownBinaries } from "../support/mysql-family/own-binaries.ts";
import { type RunningServer, startPrivateServer } from "../support/mysql-family/private-server.ts";
import { openPlainConnection, type PlainConnection } from "../support/mysql-stage.ts";
import { certificateAuthority, signedCertificate } from "./certificate.ts";
import { answered, processStage, readyPage } from "./stage.ts";

const AUTHORITY = certificateAuthority();
const FIRST = "first-s3cret";
const SECOND = "second-s3cret";
const binaries = await ownBinaries();

describe.each([...binaries])("on a %s of its own", (flavour, binary) => {
  const stage = processStage();
  const folder = mkdtempSync(join(tmpdir(), "rowlock-login-"));
  const [ca, passwordFile] = [join(folder, "ca.crt"), join(folder, "password")];
  const login = ["--database-ca", ca, "--database-password-file", passwordFile];
  let running: RunningServer;
  let database: FreshDatabase;
  let plain: PlainConnection;
  /** Without a password. */
  let url: string;

  beforeAll(async () => {
    const { cert, key } = signedCertificate(AUTHORITY, "server");
    const files = { "server.crt": cert, "server.key": key, "ca.crt": AUTHORITY.cert, password: `${FIRST}\n` };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const flags = [`--ssl-ca=${ca}`, `--ssl-cert=${folder}/server.crt`, `--ssl-key=${folder}/server.key`];
    running = await startPrivateServer(binary, flavour, { flags });
    database = await freshDatabase(running.server);
    plain = await openPlainConnection(database.url);
    await plain.run(
      `CREATE USER 'rotated'@'%' IDENTIFIED BY '${FIRST}' REQUIRE SSL; GRANT ALL ON *.* TO 'rotated'@'%'`,
    );
    url = Object.assign(new URL(database.url), { username: "rotated", password: "" }).href;
  });
  afterAll(async () => {
    plain?.close();
    await running?.stop();
    rmSync(folder, { recursive: true });
  });

  test("every command logs in over TLS", async () => {
    const commands = [["migrate", "up"], ["migrate", "status"], ["doctor"], ["restored", "--pause", "0s"]];
    for (const command of commands) {
      const { code, out, err } = await stage.rowlock([...command, "--database-url", url, ...login]).exited;
      expect([code, err]).toEqual([0, ""]);
      expect(out).not.toContain("s3cret");
      const plainText = stage.rowlock([...command, "--database-url", url, ...login.slice(2)]);
      const refused = await plainText.exited;
      expect(refused.code).toBeGreaterThan(0);
      expect(refused.err).toMatch(/REQUIRE SSL.* set ROWLOCK_DATABASE_CA/);
    }
  });

  test("the authorities of the machine are trusted on request", async () => {
    const doctor = ["doctor", "--database-url", url, ...login.slice(2), "--database-ca", "system"];
    expect(await stage.rowlock(doctor, { SSL_CERT_FILE: ca }).exited).toMatchObject({ code: 0, err: "" });
    const { code, err } = await stage.rowlock(doctor).exited;
    expect([code, err]).toEqual([2, expect.stringContaining("is not signed by an authority")]);
  });

  test("a server goes on when the password changes, and nothing that it says contains a password", async () => {
    const server = await stage.serving(url, ...login, "--log-level", "trace");
    expect(server.screen).toMatch(/database .*rotated@127.0.0.1:\d+\/\w+ \(TLS\)\n/);
    await server.client.call("acquire", { name: "before" });

    // The database is first, so for a while no login succeeds.
    await plain.run(`ALTER USER 'rotated'@'%' IDENTIFIED BY '${SECOND}'`);
    await cutOff();
    const page = await readyPage(server, 503);
    expect(page).toContain("access_denied");
    await server.process.logged(/the database (still )?cannot be used: The database denies access to this user/);
    writeFileSync(passwordFile, `${SECOND}\n`);
    await answered(() => server.client.call("acquire", { name: "after" }));
    await readyPage(server, 200);
    await server.process.logged(/the database can be used again/);
    const metrics = await (await fetch(`${server.metricsUrl}/metrics`)).text();

    server.process.kill("SIGTERM");
    const exit = await server.process.exited;
    expect(exit.code).toBe(0);
    for (const text of [exit.out, exit.err, page, metrics]) expect(text).not.toMatch(/s3cret|PRIVATE KEY/);
  });

  /** Ends all connections of the servers under test. */
  async function cutOff(): Promise<void> {
    const rows = await plain.run(
      "SELECT id AS id FROM information_schema.processlist WHERE user = 'rotated'",
    );
    // A connection may have ended by itself meanwhile.
    for (const { id } of rows) await plain.run(`KILL ${id}`).catch(() => {});
  }
});

reportLeftOut([...binaries]);
