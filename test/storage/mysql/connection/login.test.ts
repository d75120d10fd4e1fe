// How a server logs in to a database server: TLS in both directions, what each refusal says, and a password that changes
// while a store is in use. The database servers are private to this file, because nothing else could use them meanwhile.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { PasswordFile } from "../../../../server/config/password-file.ts";
import { type DatabaseLogin, parseDatabaseUrl } from "../../../../server/storage/database-url.ts";
import { migrateUp, migrationStatus } from "../../../../server/storage/migrate/migrate.ts";
import { durabilityOf, openStore } from "../../../../server/storage/open.ts";
import { openReadyStore } from "../../../../server/storage/open-ready.ts";
import type { Store, StoreError } from "../../../../server/storage/store.ts";
import { authorityUntil, certificateAuthority, signedCertificate } from "../../../process/certificate.ts";
import { type FreshDatabase, freshDatabase } from "../../../support/database.ts";
import { ownBinaries } from "../../../support/mysql-family/own-binaries.ts";
import type { RunningServer } from "../../../support/mysql-family/private-server.ts";
import { startPrivateServer } from "../../../support/mysql-family/private-server.ts";
import type { PlainConnection } from "../../../support/mysql-stage.ts";
import { openPlainConnection, refusal, START, UNOBSERVED, until } from "../../../support/mysql-stage.ts";
import { changeLock, lockId } from "../../../support/store-fixture.ts";

const binaries = await ownBinaries();
const AUTHORITY = certificateAuthority();
const OTHER_AUTHORITY = certificateAuthority();
const CLIENT = signedCertificate(AUTHORITY, "client");
const STRANGER = signedCertificate(OTHER_AUTHORITY, "client");
const HALF_AN_HOUR_MS = 1_800_000;
const OWN_REFUSED = /refuses the certificate of ROWLOCK_DATABASE_CERT.*\(ERR_SSL_[A-Z0-9_]+\)\.$/;
const EXPIRED = /has expired: renew it.*\(CERT_HAS_EXPIRED\)\.$/;

type Tls = NonNullable<DatabaseLogin["tls"]>;
const TLS: Tls = { ca: AUTHORITY.cert, own: null, verifyName: true };
const own = ({ cert, key }: { cert: string; key: string }) => ({ certificate: cert, key });
const over = (tls: Partial<Tls> = {}): DatabaseLogin => ({ tls: { ...TLS, ...tls }, passwordFile: null });

describe.each([...binaries])("on a %s of its own", (flavour, binary) => {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-login-"));
  const tlsFlags = [
    `--ssl-ca=${folder}/ca.crt`,
    `--ssl-cert=${folder}/server.crt`,
    `--ssl-key=${folder}/server.key`,
  ];
  let running: RunningServer;
  let database: FreshDatabase;
  let plain: PlainConnection;

  /** The certificate that the server shows from its next connection on. */
  async function shows(certificate: { cert: string; key: string }): Promise<void> {
    writeFileSync(join(folder, "server.crt"), certificate.cert);
    writeFileSync(join(folder, "server.key"), certificate.key);
    await plain?.run(flavour === "mysql" ? "ALTER INSTANCE RELOAD TLS" : "FLUSH SSL");
  }

  beforeAll(async () => {
    await shows(signedCertificate(AUTHORITY, "server"));
    writeFileSync(join(folder, "ca.crt"), AUTHORITY.cert);
    // On all addresses, so that it can be reached by one that its certificate does not name.
    running = await startPrivateServer(binary, flavour, { flags: [...tlsFlags, "--bind-address=0.0.0.0"] });
    database = await freshDatabase(running.server);
    plain = await openPlainConnection(database.url);
    await plain.run(`CREATE USER 'tls'@'%' IDENTIFIED BY 'p' REQUIRE SSL; GRANT ALL ON *.* TO 'tls'@'%';
      CREATE USER 'x509'@'%' IDENTIFIED BY 'p' REQUIRE X509; GRANT ALL ON *.* TO 'x509'@'%'`);
    await migrateUp(database.url);
  });
  afterAll(async () => {
    plain?.close();
    await running?.stop();
    rmSync(folder, { recursive: true });
  });

  function urlOf(user: string, host = "127.0.0.1", password = "p"): string {
    const url = new URL(database.url);
    return Object.assign(url, { username: user, password, hostname: host }).href;
  }

  async function opened(url: string, login?: DatabaseLogin, poolSize = 2): Promise<Store> {
    const store = await openStore(url, { login, poolSize });
    onTestFinished(() => store.close());
    return store;
  }

  /** That a server which starts now is refused for its TLS, and how it says so. */
  async function tlsRefused(url: string, login: DatabaseLogin, said: RegExp): Promise<StoreError> {
    const error = await startRefused(url, login);
    expect(error).toMatchObject({ kind: "unavailable", reason: "tls" });
    expect(error.message).toMatch(said);
    return error;
  }

  /** The error of a server that starts now. It fails if the start tries again, as nothing here passes by waiting. */
  async function startRefused(url: string, databaseLogin: DatabaseLogin): Promise<StoreError> {
    const log = {
      debug() {},
      info() {},
      warn(_: object, message: string) {
        throw new Error(`Tries again: ${message}`);
      },
    };
    const settings = { ...START, startupTimeoutMs: 60_000, weakDurability: true, databaseLogin };
    return await refusal(openReadyStore({ ...settings, databaseUrl: url }, UNOBSERVED, log));
  }

  test("a user who has to use TLS does so for whatever is done, by name and by address", async () => {
    for (const host of ["localhost", "127.0.0.1"]) {
      const url = urlOf("tls", host);
      const login = over();
      expect(await durabilityOf(url, login)).toEqual(await durabilityOf(database.url));
      expect(await migrateUp(url, { login })).toEqual([]);
      expect((await migrationStatus(url, login)).pending).toEqual([]);
      const store = await opened(url, login);
      const id = await lockId(store, "over TLS");
      await Promise.all([1, 2, 3].map(() => changeLock(store, id, () => {})));
      expect(store.localHost).toBe("127.0.0.1");
    }
  });

  test("of several addresses, each must be named by the certificate that is shown there", async () => {
    const { host, port } = new URL(urlOf("tls"));
    const url = urlOf("tls").replace(host, `127.0.0.2:${port},127.0.0.1:${port}`);
    const store = await opened(url, over());
    expect(store.servers()).toMatchObject([
      { isChosen: false, isUsable: false, why: expect.stringContaining("does not name the host") },
      { isChosen: true, isUsable: true },
    ]);
    expect((await migrationStatus(url, over())).pending).toEqual([]);
    const none = await startRefused(url.replace(`127.0.0.1:${port}`, `127.0.0.3:${port}`), over());
    expect(none).toMatchObject({ reason: "tls", message: expect.stringContaining(`127.0.0.3:${port}: `) });
  });

  test("a user who has to use TLS and does not learns which setting is missing", async () => {
    const error = await startRefused(urlOf("tls"), { tls: null, passwordFile: null });
    expect(error).toMatchObject({ kind: "unavailable", reason: "access_denied" });
    expect(error.message).toMatch(
      /\(error 1045\)\. If .*REQUIRE SSL.* set ROWLOCK_DATABASE_CA\. ROWLOCK_DATABASE_URL is mysql:/,
    );
    const schema = await refusal(migrationStatus(urlOf("tls")));
    expect(schema.message).toMatch(/^The schema of mysql:.* cannot be read\..* set ROWLOCK_DATABASE_CA\.$/);
  });

  test("a user who has to show a certificate shows it, also in connections that reuse a handshake", async () => {
    const login = over({ own: own(CLIENT) });
    const store = await opened(urlOf("x509"), login, 6);
    const id = await lockId(store, "X509");
    const all = Array.from({ length: 12 }, () => changeLock(store, id, () => {}));
    expect(await Promise.all(all)).toHaveLength(12);
    expect((await migrationStatus(urlOf("x509"), login)).pending).toEqual([]);

    const without = await startRefused(urlOf("x509"), over());
    expect(without).toMatchObject({ reason: "access_denied" });
    expect(without.message).toMatch(
      /REQUIRE X509.* set ROWLOCK_DATABASE_CERT and ROWLOCK_DATABASE_KEY\. ROWLOCK_DATABASE_URL is mysql:/,
    );
  });

  test("a certificate that the server does not trust is refused", async () => {
    await tlsRefused(urlOf("tls"), over({ own: own(STRANGER) }), OWN_REFUSED);
  });

  test("so it is in TLS 1.2, where that is known earlier in the handshake", async () => {
    const older = await startPrivateServer(binary, flavour, {
      flags: [...tlsFlags, "--tls-version=TLSv1.2"],
    });
    onTestFinished(() => older.stop());
    const url = `${older.server.url}/mysql`;
    expect(await durabilityOf(url, over({ own: own(CLIENT) }))).toBeInstanceOf(Array);
    await tlsRefused(url, over({ own: own(STRANGER) }), OWN_REFUSED);
  });

  test("a server whose certificate another authority has signed is refused", async () => {
    for (const ca of [OTHER_AUTHORITY.cert, signedCertificate(AUTHORITY, "no authority").cert]) {
      const said = /is not signed by an authority of ROWLOCK_DATABASE_CA.*\([A-Z_]+\)\.$/;
      await tlsRefused(urlOf("tls"), over({ ca }), said);
      expect(await refusal(migrationStatus(urlOf("tls"), over({ ca })))).toMatchObject({ reason: "tls" });
    }
  });

  test("a server whose certificate does not name the host is refused, unless that is allowed", async () => {
    // The driver alone would compare the certificate with `localhost` here.
    const said = /does not name the host.*\(ERR_TLS_CERT_ALTNAME_INVALID\)\.$/;
    const error = await tlsRefused(urlOf("tls", "127.0.0.2"), over(), said);
    expect(error.cause).not.toHaveProperty("cert");
    const schema = refusal(migrationStatus(urlOf("tls", "127.0.0.2"), over()));
    expect(await schema).toMatchObject({ reason: "tls" });
    const tolerant = await opened(urlOf("tls", "127.0.0.2"), over({ verifyName: false }));
    expect(await lockId(tolerant, "tolerant")).toBeTypeOf("bigint");

    await shows(signedCertificate(AUTHORITY, "server", { hosts: ["db.example", "127.0.0.1"] }));
    try {
      expect(await startRefused(urlOf("tls", "localhost"), over())).toMatchObject({ reason: "tls" });
      expect(await lockId(await opened(urlOf("tls"), over()), "by address")).toBeTypeOf("bigint");
    } finally {
      await shows(signedCertificate(AUTHORITY, "server"));
    }
  });

  test("a server whose authority's certificate has expired is refused", async () => {
    const { cert: ca } = authorityUntil(AUTHORITY, Date.now() - HALF_AN_HOUR_MS);
    await tlsRefused(urlOf("tls"), over({ ca }), EXPIRED);
  });

  // MySQL does not load an expired certificate.
  test.runIf(flavour === "mariadb")(
    "a certificate that expires is refused, until it is renewed",
    async () => {
      const store = await opened(urlOf("tls"), over());
      await lockId(store, "renewed");
      await shows(signedCertificate(AUTHORITY, "server", { untilMs: Date.now() - HALF_AN_HOUR_MS }));
      try {
        await tlsRefused(urlOf("tls"), over(), EXPIRED);
      } finally {
        await shows(signedCertificate(AUTHORITY, "server"));
      }
      await killAll("tls");
      await until(() => store.pool().open === 0);
      expect(await lockId(store, "renewed again")).toBeTypeOf("bigint");
    },
  );

  test("a server that accepts TLS only says so, and serves whoever uses it", async () => {
    await plain.run("SET GLOBAL require_secure_transport = ON");
    try {
      const error = await startRefused(database.url, { tls: null, passwordFile: null });
      // MariaDB answers as it does to a wrong password.
      expect(error.reason).toBe(flavour === "mysql" ? "tls" : "access_denied");
      expect(error.message).toMatch(/(TLS only|require_secure_transport).* set ROWLOCK_DATABASE_CA/);
      expect(await lockId(await opened(database.url, over()), "secure")).toBeTypeOf("bigint");
    } finally {
      await plain.run("SET GLOBAL require_secure_transport = OFF");
    }
  });

  test("a server without TLS is refused by whoever asks for it, before the password is sent", async () => {
    const flags = [flavour === "mysql" ? "--tls-version=" : "--skip-ssl"];
    const bare = await startPrivateServer(binary, flavour, { flags });
    onTestFinished(() => bare.stop());
    const said = /offers no TLS.*\(HANDSHAKE_NO_SSL_SUPPORT\)\.$/;
    await tlsRefused(`${bare.server.url}/mysql`, over(), said);
  });

  /** Ends all connections of a user. */
  async function killAll(user: string): Promise<void> {
    const rows = await plain.run("SELECT id AS id FROM information_schema.processlist WHERE user = ?", [
      user,
    ]);
    // A connection may have ended by itself meanwhile.
    for (const { id } of rows) await plain.run(`KILL ${id}`).catch(() => {});
  }

  describe("a password from a file", () => {
    const FIRST = "first-s3cret";
    const SECOND = "second-s3cret";

    /** A user with the first password, and a store that has it from a file. */
    async function inUse(user: string) {
      await plain.run(
        `CREATE USER '${user}'@'%' IDENTIFIED BY '${FIRST}'; GRANT ALL ON *.* TO '${user}'@'%'`,
      );
      const file = { text: `${FIRST}\n` as string | null };
      const passwordFile = PasswordFile.open("password", () => {
        if (file.text === null) throw Object.assign(new Error("gone"), { code: "ENOENT" });
        return file.text;
      });
      if (!(passwordFile instanceof PasswordFile)) throw passwordFile;
      const login = { tls: null, passwordFile };
      const url = urlOf(user, "127.0.0.1", "");
      const store = await opened(url, login);
      const id = await lockId(store, user);
      return {
        file,
        login,
        url,
        works: () => changeLock(store, id, () => {}),
        setPassword: (password: string) =>
          plain.run(`ALTER USER '${user}'@'%' IDENTIFIED BY '${password}'; FLUSH PRIVILEGES`),
        /** Ends the connections of the store, and waits until it knows. */
        async cutOff() {
          await killAll(user);
          await until(() => store.pool().open === 0);
        },
      };
    }

    test("is read again when it is refused, so that a changed one needs no restart and no call fails", async () => {
      const { file, login, url, works, setPassword, cutOff } = await inUse("rotated");
      await setPassword(SECOND);
      file.text = `${SECOND}\n`;
      await works();
      await cutOff();
      expect(await Promise.all([works(), works(), works()])).toHaveLength(3);
      expect((await migrationStatus(url, login)).pending).toEqual([]);
      await setPassword(FIRST);
      file.text = FIRST;
      expect(await migrateUp(url, { login })).toEqual([]);
      expect(login.passwordFile.current).toBe(FIRST);
    });

    test("stays in use if the file changes before the database", async () => {
      const { file, works, setPassword, cutOff } = await inUse("early");
      file.text = SECOND;
      await cutOff();
      expect(await works()).toBeDefined();
      await setPassword(SECOND);
      await cutOff();
      expect(await works()).toBeDefined();
    });

    test.each([
      ["is late", FIRST, /\(error 1045\)\. If/],
      ["is empty", "\n", /\(error 1045\)\. .*ROWLOCK_DATABASE_PASSWORD_FILE is "password", which is empty/],
      ["is gone", null, /\(error 1045\)\. .*ROWLOCK_DATABASE_PASSWORD_FILE .* cannot be read \(ENOENT\)/],
    ] as const)("that %s makes calls fail until it is there", async (why, text, sentence) => {
      const { file, works, setPassword, cutOff } = await inUse(why.replace(" ", "_"));
      await setPassword(SECOND);
      file.text = text;
      await cutOff();
      const error = await refusal(works());
      expect(error).toMatchObject({ kind: "unavailable", reason: "access_denied" });
      expect(error.message).toMatch(sentence);
      expect(`${error.stack}${JSON.stringify(error)}${JSON.stringify(error.cause)}`).not.toContain("s3cret");
      file.text = SECOND;
      expect(await works()).toBeDefined();
    });
  });
});

describe("a server that begins a handshake of TLS", () => {
  test.each<[string, (socket: Socket) => void, string, RegExp?]>([
    ["and then says nothing is given up after a while, and another try may succeed", () => {}, "timeout"],
    ["and then goes away is away, as without TLS", (socket) => socket.destroy(), "connection_lost"],
    [
      "and does not speak it is refused",
      (socket) => socket.write("HELLO"),
      "tls",
      /^The TLS handshake with the database server failed.*\(ERR_SSL_[A-Z0-9_]+\)\.$/,
    ],
  ])("%s", async (_, then, reason, said = /./) => {
    const error = await refusal(durabilityOf(await urlOfGreeter(then), over()));
    expect(error).toMatchObject({ kind: "unavailable", reason });
    expect(error.message).toMatch(said);
  });

  /** A server that greets as MySQL does, offers TLS, and then does this with the connection. */
  async function urlOfGreeter(then: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.write(greeting());
      // The request for TLS is 36 bytes long, and what follows is the handshake.
      socket.once("data", () => then(socket));
    }).listen(0, "127.0.0.1");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    await new Promise((resolve) => server.once("listening", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("It listens on no port.");
    return `mysql://u:p@127.0.0.1:${address.port}/x`;
  }

  /** Protocol 10, any version, with all that clients need: TLS, passwords, plug-ins. */
  function greeting(): Buffer {
    const salt = Buffer.alloc(8, "s");
    const body = Buffer.concat([
      Buffer.from("\n8.0.0\0"),
      Buffer.from([1, 0, 0, 0]),
      salt,
      Buffer.from([0, 0xff, 0xff, 45, 2, 0, 0xff, 0xdf, 21]),
      Buffer.alloc(10),
      Buffer.alloc(12, "s"),
      Buffer.from("\0mysql_native_password\0"),
    ]);
    return Buffer.concat([Buffer.from([body.length, 0, 0, 0]), body]);
  }
});

test("a URL does not say how to log in", () => {
  expect(parseDatabaseUrl("mysql://u@db/x")).not.toHaveProperty("login");
  expect(() => parseDatabaseUrl("mysql://u@db/x?ssl-mode=REQUIRED")).toThrow("ROWLOCK_DATABASE_CA");
});
