// Settings: sources, bounds, names, and that all mistakes are reported at once.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { SHELL_NAMES } from "../../clients/shell/context.ts";
import type { Config } from "../../server/config/config.ts";
import { loadConfig, loadDatabaseConfig } from "../../server/config/config.ts";
import { FILE_FORMS } from "../../server/config/settings.ts";
import { parseDatabaseUrl } from "../../server/storage/database-url.ts";
import { selfSignedCertificate } from "../process/certificate.ts";

const OWN = selfSignedCertificate();
const OTHER = selfSignedCertificate();
const PEM_FILES = { "own.crt": OWN.cert, "own.key": OWN.key, "other.key": OTHER.key, junk: "junk" };

interface Written {
  flags?: Record<string, string | undefined>;
  env?: Record<string, string | undefined>;
  files?: Record<string, string>;
}

function load(written: Written) {
  const files: Record<string, string> = { ...PEM_FILES, ...written.files };
  return loadConfig({
    argvFlags: written.flags ?? {},
    env: written.env ?? {},
    readFile: (path) => files[path] ?? readFileSync(path, "utf8"),
    parseDatabaseUrl,
  });
}

function configOf(written: Written): Config {
  const loaded = load(written);
  if ("faults" in loaded) throw new Error(loaded.faults.join("\n"));
  return loaded.config;
}

function faultsOf(written: Written): readonly string[] {
  const loaded = load(written);
  return "faults" in loaded ? loaded.faults : [];
}

describe("sources", () => {
  test("a flag beats the environment, which beats the file, which beats the default", () => {
    const files = {
      "rowlock.env": "# comment\n\nROWLOCK_GRACE=1s\nROWLOCK_QUEUE_MAX=1\nexport ROWLOCK_POOL_SIZE=7\n",
    };
    const config = configOf({
      files,
      env: { ROWLOCK_CONFIG: "rowlock.env", ROWLOCK_QUEUE_MAX: "2", ROWLOCK_COMMANDS_MAX: "2" },
      flags: { ROWLOCK_COMMANDS_MAX: "3" },
    });
    expect([config.graceMs, config.queueMax, config.commandsMax, config.poolSize]).toEqual([1_000, 2, 3, 7]);
  });

  test("the flag names another file than the environment", () => {
    const files = { a: "ROWLOCK_GRACE=1s", b: "ROWLOCK_GRACE=2s" };
    const config = configOf({ files, env: { ROWLOCK_CONFIG: "a" }, flags: { ROWLOCK_CONFIG: "b" } });
    expect(config.graceMs).toBe(2_000);
  });

  test("an empty value means unset", () => {
    expect(configOf({ env: { ROWLOCK_GRACE: "", ROWLOCK_CONFIG: "" } }).graceMs).toBe(10_000);
  });

  test("a missing file is a fault, and so is a line without a setting", () => {
    expect(faultsOf({ flags: { ROWLOCK_CONFIG: "/no/such/file" } })).toEqual([
      'ROWLOCK_CONFIG is "/no/such/file", which cannot be read (ENOENT): name a readable file of NAME=value lines.',
    ]);
    expect(
      faultsOf({ files: { f: "ROWLOCK_GRACE=1s\nROWLOCK_GRACE 2s\n" }, flags: { ROWLOCK_CONFIG: "f" } }),
    ).toEqual(["Line 2 of f is not NAME=value: correct it, or begin it with # to leave it out."]);
  });
});

describe("the file of a secret setting", () => {
  const url = "mysql://rowlock:a secret@db/rowlock";
  const files = { url: `${url}\n`, empty: "\n", "rowlock.env": "ROWLOCK_DATABASE_URL_FILE=url" };

  test("stands for its value in every source", () => {
    for (const written of [
      { flags: { ROWLOCK_DATABASE_URL_FILE: "url" } },
      { env: { ROWLOCK_DATABASE_URL_FILE: "url" } },
      { env: { ROWLOCK_CONFIG: "rowlock.env" } },
    ])
      expect(configOf({ files, ...written }).databaseUrl).toBe(url);
  });

  test("exists for each secret setting, and for commands on the database too", () => {
    expect([...FILE_FORMS.values()]).toEqual(["ROWLOCK_DATABASE_URL_FILE"]);
    const loaded = loadDatabaseConfig({
      argvFlags: {},
      env: { ROWLOCK_DATABASE_URL_FILE: "url" },
      readFile: () => "sqlite:other.db",
      parseDatabaseUrl,
    });
    expect(loaded).toMatchObject({ config: { databaseUrl: "sqlite:other.db" } });
  });

  test("and the value itself exclude each other, in whatever sources they are", () => {
    const flags = { ROWLOCK_DATABASE_URL: "sqlite:x.db" };
    expect(faultsOf({ files, flags, env: { ROWLOCK_DATABASE_URL_FILE: "url" } })).toEqual([
      "ROWLOCK_DATABASE_URL (flag --database-url) and ROWLOCK_DATABASE_URL_FILE (environment) are both set: leave out one of them.",
    ]);
  });

  test("is a single fault if it cannot be used, and a wrong value in it is not quoted", () => {
    const faultOf = (path: string, text = "") =>
      faultsOf({
        files: { ...files, ...(text && { [path]: text }) },
        env: { ROWLOCK_DATABASE_URL_FILE: path, ROWLOCK_DATABASE_CA: "own.crt" },
      });
    expect(faultOf("/no/such/file")).toEqual([
      'ROWLOCK_DATABASE_URL_FILE is "/no/such/file", which cannot be read (ENOENT): name a file that this user may read.',
    ]);
    expect(faultOf("empty")).toEqual([
      'ROWLOCK_DATABASE_URL_FILE is "empty", which is empty: put the value of ROWLOCK_DATABASE_URL there.',
    ]);
    const [wrong, ...more] = faultOf("wrong", "a secret that is no URL");
    expect(wrong).toMatch(/^ROWLOCK_DATABASE_URL: /);
    expect(wrong).not.toContain("a secret");
    expect(more).toEqual([]);
  });
});

describe("names", () => {
  test("an unknown name is an error with the nearest known one", () => {
    expect(faultsOf({ env: { ROWLOCK_LISTN: "x" } })).toEqual([
      "ROWLOCK_LISTN (environment) is not a setting: did you mean ROWLOCK_LISTEN?",
    ]);
    expect(faultsOf({ files: { f: "DATABASE_URL=x" }, flags: { ROWLOCK_CONFIG: "f" } })).toEqual([
      "DATABASE_URL (f) is not a setting: did you mean ROWLOCK_DATABASE_URL?",
    ]);
  });

  test.each(["THE_QUICK_BROWN_FOX", "DEBUG", "PORT", "HOST", "USER", "X", "PASSWORD", "VOUCHER"])(
    "%s is near no name",
    (name) => {
      expect(faultsOf({ env: { [`ROWLOCK_${name}`]: "x" } })).toEqual([
        `ROWLOCK_${name} (environment) is not a setting: leave it out; \`rowlock serve --help\` lists all settings.`,
      ]);
    },
  );

  test.each(SHELL_NAMES)("%s belongs to the shell, and is not a typing mistake", (name) => {
    expect(faultsOf({ env: { [name]: "x" } })).toEqual([]);
  });

  test("what scripts call the server by over HTTP is not a typing mistake", () => {
    expect(faultsOf({ env: { ROWLOCK_HTTP: "http://127.0.0.1:8080", ROWLOCK_HTTP_TOKEN: "x" } })).toEqual([]);
    expect(faultsOf({ files: { f: "ROWLOCK_HTTP=x" }, flags: { ROWLOCK_CONFIG: "f" } })).toHaveLength(1);
  });

  test("other programs' names in the environment are ignored", () => {
    const env = {
      HOME: "/root",
      ROWLOCK_TEST_MYSQL_URL: "mysql://x",
      ROWLOCK_PORT: "tcp://10.0.0.1:50051",
      ROWLOCK_SERVICE_HOST: "10.0.0.1",
      ROWLOCK_SERVICE_PORT: "50051",
      ROWLOCK_SERVICE_PORT_GRPC: "50051",
      ROWLOCK_PORT_50051_TCP: "tcp://10.0.0.1:50051",
      ROWLOCK_PORT_50051_TCP_ADDR: "10.0.0.1",
      ROWLOCK_MYSQL_PORT: "tcp://10.0.0.2:3306",
    };
    expect(faultsOf({ env })).toEqual([]);
    expect(faultsOf({ env: { ROWLOCK_PORT: "50051" } })).toHaveLength(1);
  });

  test("a file cannot name a file", () => {
    expect(faultsOf({ files: { f: "ROWLOCK_CONFIG=g" }, flags: { ROWLOCK_CONFIG: "f" } })).toHaveLength(1);
  });
});

describe("values", () => {
  test("all faults are reported at once, each with its place and the remedy", () => {
    const faults = faultsOf({
      files: { f: "ROWLOCK_GRACE=ten" },
      env: { ROWLOCK_LISTEN: "50051", ROWLOCK_MIGRATE: "yes", ROWLOCK_QEUE_MAX: "5" },
      flags: { ROWLOCK_CONFIG: "f", ROWLOCK_POOL_SIZE: "1", ROWLOCK_LOG_LEVEL: "loud" },
    });
    expect(faults).toEqual([
      "ROWLOCK_QEUE_MAX (environment) is not a setting: did you mean ROWLOCK_QUEUE_MAX?",
      expect.stringMatching(/^ROWLOCK_LISTEN is "50051" \(environment\): write host:port/),
      'ROWLOCK_MIGRATE is "yes" (environment): write true or false.',
      'ROWLOCK_GRACE is "ten" (f): write a duration such as 500ms, 10s, 5m, 2h or 7d, from 1s to 10m; a number alone means seconds.',
      'ROWLOCK_POOL_SIZE is "1" (flag --pool-size): write a whole number from 2 to 1000.',
      'ROWLOCK_LOG_LEVEL is "loud" (flag --log-level): write one of trace, debug, info, warn, error, fatal, silent.',
    ]);
  });

  test.each([
    ["127.0.0.1:0", { host: "127.0.0.1", port: 0 }],
    ["[::1]:50051", { host: "::1", port: 50051 }],
    ["localhost:1", { host: "localhost", port: 1 }],
  ])("listens on %s", (text, address) => {
    expect(configOf({ env: { ROWLOCK_LISTEN: text } }).listen).toEqual(address);
  });

  test.each(["", ":50051x", "127.0.0.1", "127.0.0.1:65536", "::1:50051", "http://127.0.0.1:1", "a b:1"])(
    "does not listen on %j",
    (text) => {
      const faults = faultsOf({ env: { ROWLOCK_LISTEN: text } });
      expect(faults).toHaveLength(text === "" ? 0 : 1);
    },
  );

  test.each([
    ["ROWLOCK_GRACE", "999ms"],
    ["ROWLOCK_GRACE", "11m"],
    ["ROWLOCK_GRACE", "-1s"],
    ["ROWLOCK_GRACE", "1.5s"],
    ["ROWLOCK_POLL_INTERVAL", "9ms"],
    ["ROWLOCK_QUEUE_MAX", "0"],
    ["ROWLOCK_QUEUE_MAX", "1e3"],
    ["ROWLOCK_LANES", "0"],
    ["ROWLOCK_METRICS_LISTEN", "none"],
    ["ROWLOCK_METRICS_CLASSES", "a*b"],
    ["ROWLOCK_METRICS_CLASSES", "other"],
    ["ROWLOCK_METRICS_CLASSES", Array.from({ length: 51 }, (_, i) => `c${i}/*`).join(",")],
    ["ROWLOCK_METRICS_CLASSES", "x".repeat(256)],
    ["ROWLOCK_HISTORY", "etl/*"],
    ["ROWLOCK_HISTORY", "=1h"],
    ["ROWLOCK_HISTORY", "etl/*=1w"],
    ["ROWLOCK_HISTORY", "etl/*=3651d"],
    ["ROWLOCK_HISTORY", "a*b=1h"],
    ["ROWLOCK_HISTORY", "a=1h,b=2h,a=3h"],
    ["ROWLOCK_HISTORY", `${"x".repeat(256)}=1h`],
    ["ROWLOCK_HISTORY", Array.from({ length: 51 }, (_, i) => `c${i}/*=1h`).join(",")],
    ["ROWLOCK_HISTORY_ROWS_MAX", "999"],
    ["ROWLOCK_CHANGES_RETENTION", "59m"],
    ["ROWLOCK_METRICS_LABEL", "x".repeat(64)],
    ["ROWLOCK_METRICS_JOBS", "cron/nightly"],
    ["ROWLOCK_METRICS_JOBS", "cron/*=26h"],
    ["ROWLOCK_METRICS_JOBS", Array.from({ length: 51 }, (_, i) => `c${i}=1h`).join(",")],
  ])("refuses %s=%s", (name, text) => {
    expect(faultsOf({ env: { [name]: text } })).toHaveLength(1);
  });

  test("classes of the history have patterns and durations", () => {
    const config = configOf({ env: { ROWLOCK_HISTORY: "etl/*=30d, web/one = 2h,,a=b=500ms,*=3650d" } });
    expect(config.history).toEqual([
      { pattern: "etl/*", keptForUs: 30 * 86_400_000_000 },
      { pattern: "web/one", keptForUs: 7_200_000_000 },
      { pattern: "a=b", keptForUs: 500_000 },
      { pattern: "*", keptForUs: 3_650 * 86_400_000_000 },
    ]);
  });

  test("all faults of classes of the history are reported at once", () => {
    const [fault] = faultsOf({ env: { ROWLOCK_HISTORY: "etl/*,a*b=1h,web/*=1h,web/*=2h" } });
    expect(fault).toContain('write "etl/*" as a pattern and a duration up to 3650d, as etl/*=30d');
    expect(fault).toContain('the pattern "a*b" has a star before its end');
    expect(fault).toContain('it has "web/*" twice');
  });

  test("classes are a list without repetition", () => {
    const config = configOf({ env: { ROWLOCK_METRICS_CLASSES: "etl/*, web/*,,nightly,etl/*" } });
    expect(config.metricsClasses).toEqual(["etl/*", "web/*", "nightly"]);
  });
});

test("the database and its login are all that commands without a server need", () => {
  const input = { argvFlags: {}, readFile: () => "", parseDatabaseUrl };
  const env = { ROWLOCK_DATABASE_URL: "sqlite:x", ROWLOCK_LISTEN: "0.0.0.0:1" };
  expect(loadDatabaseConfig({ ...input, env })).toEqual({
    config: { databaseUrl: "sqlite:x", databaseLogin: { tls: null, passwordFile: null } },
  });
  expect(loadDatabaseConfig({ ...input, env: { ROWLOCK_DATABASE_URL: "x" } })).toHaveProperty("faults");
  const wrong = { ROWLOCK_DATABASE_URL: "mysql://u@db/x", ROWLOCK_DATABASE_CA: "junk" };
  expect(loadDatabaseConfig({ ...input, env: wrong })).toHaveProperty("faults");
});

describe("the login to the database", () => {
  const MYSQL = { ROWLOCK_DATABASE_URL: "mysql://u@db/x" };
  const PAIR = { ROWLOCK_DATABASE_CERT: "own.crt", ROWLOCK_DATABASE_KEY: "own.key" };

  test("is over TLS if there are authorities, and then names are verified", () => {
    const { tls } = configOf({ env: { ...MYSQL, ROWLOCK_DATABASE_CA: "own.crt" } }).databaseLogin;
    expect(tls).toEqual({ ca: OWN.cert, own: null, verifyName: true });
    const env = { ...MYSQL, ...PAIR, ROWLOCK_DATABASE_CA: "own.crt", ROWLOCK_DATABASE_VERIFY_NAME: "false" };
    expect(configOf({ env }).databaseLogin.tls).toEqual({
      ca: OWN.cert,
      own: { certificate: OWN.cert, key: OWN.key },
      verifyName: false,
    });
  });

  test("trusts the machine's authorities on request", () => {
    const { tls } = configOf({ env: { ...MYSQL, ROWLOCK_DATABASE_CA: "system" } }).databaseLogin;
    expect(tls?.ca.match(/BEGIN CERTIFICATE/g)?.length).toBeGreaterThan(50);
    expect(tls?.verifyName).toBe(true);
  });

  test("reports all faults of its files at once, beside those of other settings", () => {
    const env = {
      ...MYSQL,
      ROWLOCK_DATABASE_CA: "/no/such",
      ROWLOCK_DATABASE_CERT: "junk",
      ROWLOCK_DATABASE_KEY: "own.crt",
      ROWLOCK_DATABASE_PASSWORD_FILE: "/no/password",
      ROWLOCK_TLS_KEY: "own.key",
    };
    expect(faultsOf({ env })).toEqual([
      expect.stringMatching(/^ROWLOCK_DATABASE_CERT does not hold a certificate/),
      expect.stringMatching(/^ROWLOCK_DATABASE_KEY does not hold a private key/),
      expect.stringMatching(/^ROWLOCK_DATABASE_CA .*ENOENT/),
      'ROWLOCK_DATABASE_PASSWORD_FILE is "/no/password", which cannot be read (ENOENT): name a file that this user ' +
        "may read.",
      expect.stringMatching(/^ROWLOCK_TLS_KEY is set without/),
    ]);
  });

  const CA = { ROWLOCK_DATABASE_CA: "own.crt" };
  const NO_NAME = { ROWLOCK_DATABASE_VERIFY_NAME: "false" };
  const PASSWORD = { ROWLOCK_DATABASE_PASSWORD_FILE: "password" };
  const url = (value: string) => ({ ROWLOCK_DATABASE_URL: value });
  const [CERT, KEY] = ["ROWLOCK_DATABASE_CERT", "ROWLOCK_DATABASE_KEY"] as const;

  test.each<[string, Record<string, string>]>([
    [`${CERT} is set without ROWLOCK_DATABASE_CA`, PAIR],
    [`${CERT} is set without ${KEY}`, { ...CA, [CERT]: "own.crt" }],
    [`${KEY} is set without ${CERT}`, { ...CA, [KEY]: "own.key" }],
    [`${KEY} is not the key of ${CERT}`, { ...PAIR, ...CA, [KEY]: "other.key" }],
    ["ROWLOCK_DATABASE_VERIFY_NAME is false without ROWLOCK_DATABASE_CA", NO_NAME],
    ["VERIFY_NAME is false and ROWLOCK_DATABASE_CA is system", { ...NO_NAME, ROWLOCK_DATABASE_CA: "system" }],
    ["_CA is set and ROWLOCK_DATABASE_URL leads to SQLite", { ...CA, ...url("sqlite:x.db") }],
    ["_PASSWORD_FILE is set and ROWLOCK_DATABASE_URL leads to SQLite", { ...PASSWORD, ...url("") }],
    ["_CA is set and ROWLOCK_DATABASE_URL has a Unix socket", { ...CA, ...url("mysql://u@db/x?socket=/s") }],
    ["and ROWLOCK_DATABASE_URL has a password, too", { ...PASSWORD, ...url("mysql://u:hush@db/x") }],
    ['_PASSWORD_FILE is "empty", which is empty', { ROWLOCK_DATABASE_PASSWORD_FILE: "empty" }],
  ])("is refused: %s", (fault, env) => {
    const faults = faultsOf({ env: { ...MYSQL, ...env }, files: { password: "hush", empty: "\n" } });
    expect(faults).toEqual([expect.stringContaining(fault)]);
    expect(faults[0]).not.toContain("hush");
  });

  test.each([
    ["hush\n", "hush"],
    ["hush\r\n", "hush"],
    ["hush", "hush"],
    [" hu sh \n\n", " hu sh \n"],
  ])("takes the password from %j", (text, password) => {
    const { passwordFile } = configOf({
      env: { ...MYSQL, ROWLOCK_DATABASE_PASSWORD_FILE: "f" },
      files: { f: text },
    }).databaseLogin;
    expect(passwordFile?.current).toBe(password);
  });

  test("keeps the password until it is renewed, and then until the file holds another one", () => {
    const files: Record<string, string> = { f: "old" };
    const env = { ...MYSQL, ROWLOCK_DATABASE_PASSWORD_FILE: "f" };
    const loaded = loadDatabaseConfig({
      argvFlags: {},
      env,
      parseDatabaseUrl,
      readFile: (path) => files[path] ?? readFileSync(path, "utf8"),
    });
    const file = "config" in loaded ? loaded.config.databaseLogin.passwordFile : null;
    files.f = "new";
    expect(file?.current).toBe("old");
    expect(file?.renew()).toBe("new");
    expect(file?.current).toBe("new");
    files.f = "";
    expect(file?.renew()).toMatchObject({ message: expect.stringContaining('"f", which is empty') });
    delete files.f;
    expect(file?.renew()).toMatchObject({ message: expect.stringContaining("ENOENT") });
    expect(file?.current).toBe("new");
  });
});

describe("settings that conflict", () => {
  const TLS = { ROWLOCK_TLS_CERT: "own.crt", ROWLOCK_TLS_KEY: "own.key" };
  const ANYWHERE = { ROWLOCK_LISTEN: "0.0.0.0:50051" };
  const POOL = { ROWLOCK_POOL_SIZE: "4", ROWLOCK_DATABASE_URL: "mysql://u@db/rowlock" };
  const SQLITE = { ROWLOCK_DATABASE_URL: "sqlite:x.db" };
  const AUDIT = { ROWLOCK_AUDIT_LOG: "true" };

  test.each<[what: string, env: Record<string, string>, fault?: string]>([
    ["plain text beyond loopback", ANYWHERE, "ROWLOCK_ALLOW_PLAINTEXT=true"],
    ["the same by IPv6", { ROWLOCK_LISTEN: "[::]:50051" }, "ROWLOCK_ALLOW_PLAINTEXT=true"],
    ["plain text on request", { ...ANYWHERE, ROWLOCK_ALLOW_PLAINTEXT: "true" }],
    ["TLS beyond loopback", { ...ANYWHERE, ...TLS }],
    ["one port for metrics and gRPC", { ROWLOCK_LISTEN: "127.0.0.1:9464" }, "9464"],
    ["any port for both", { ROWLOCK_LISTEN: "127.0.0.1:0", ROWLOCK_METRICS_LISTEN: "127.0.0.1:0" }],
    ["lanes that leave a connection free", { ...POOL, ROWLOCK_LANES: "3" }],
    ["lanes that leave none", { ...POOL, ROWLOCK_LANES: "4" }, "set ROWLOCK_POOL_SIZE to 5 or more"],
    ["the same on SQLite", { ...POOL, ...SQLITE, ROWLOCK_LANES: "4" }, "set ROWLOCK_POOL_SIZE to 5 or more"],
    ["an audit at info", { ...AUDIT, ROWLOCK_LOG_LEVEL: "info" }],
    ["an audit at debug", { ...AUDIT, ROWLOCK_LOG_LEVEL: "debug" }],
    ["an audit not written", { ...AUDIT, ROWLOCK_LOG_LEVEL: "warn" }, "set ROWLOCK_LOG_LEVEL to info"],
    ["TLS of metrics without a certificate", { ROWLOCK_METRICS_TLS: "true" }, "without ROWLOCK_TLS_CERT"],
    ["a certificate without a key", { ROWLOCK_TLS_CERT: "own.crt" }, "without ROWLOCK_TLS_KEY"],
    ["a key without a certificate", { ROWLOCK_TLS_KEY: "own.key" }, "without ROWLOCK_TLS_CERT"],
    ["authorities alone", { ROWLOCK_TLS_CLIENT_CA: "own.crt" }, "ROWLOCK_TLS_CLIENT_CA"],
    ["another key", { ...TLS, ROWLOCK_TLS_KEY: "other.key" }, "is not the key of"],
  ])("%s", (_, env, fault) => {
    expect(faultsOf({ env })).toEqual(fault === undefined ? [] : [expect.stringContaining(fault)]);
  });
});
