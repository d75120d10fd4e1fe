// What a database URL may contain, and that its password appears in no message.

import { describe, expect, test } from "vitest";
import {
  describeDatabaseUrl,
  type MysqlAddress,
  parseDatabaseUrl,
  singleAddresses,
} from "../../server/storage/database-url.ts";
import { openStore } from "../../server/storage/open.ts";

describe("a database URL", () => {
  test.for([
    ["sqlite:rowlock.db", "rowlock.db"],
    ["sqlite:./data/rowlock.db", "./data/rowlock.db"],
    ["sqlite:/var/lib/rowlock.db", "/var/lib/rowlock.db"],
    ["sqlite:///var/lib/rowlock.db", "/var/lib/rowlock.db"],
    ["sqlite::memory:", ":memory:"],
    ["sqlite:with blank?and#more.db", "with blank?and#more.db"],
  ] as const)("names an SQLite file: %s", ([url, path]) => {
    expect(parseDatabaseUrl(url)).toEqual({ dialect: "sqlite", path });
  });

  test("names a database on a MySQL or MariaDB server", () => {
    const where = { host: "db", port: 3306, socket: null };
    const local = { dialect: "mysql", ...where, user: "u", password: "", database: "locks" };
    expect(parseDatabaseUrl("mysql://u@db/locks")).toEqual(local);
    expect(parseDatabaseUrl("mariadb://u@db/locks")).toEqual(local);
    expect(parseDatabaseUrl("mysql://u:p%40%2F%3A%25@db:3307/locks")).toEqual({
      ...local,
      port: 3307,
      password: "p@/:%",
    });
    expect(parseDatabaseUrl("mysql://u@[::1]:3307/locks")).toEqual({ ...local, host: "::1", port: 3307 });
    expect(parseDatabaseUrl("mysql://u@db/locks?socket=/run/my%20db/s.sock")).toEqual({
      ...local,
      socket: "/run/my db/s.sock",
    });
  });

  test.for([
    "",
    "rowlock.db",
    "postgres://u:s3cret@db/locks",
    "sqlite:",
    "sqlite::shared:",
    "sqlite:file:x?mode=memory",
    "mysql:locks",
    "mysql://",
    "mysql://db/locks",
    "mysql://u:s3cret@db",
    "mysql://u:s3cret@db/",
    "mysql://u:s3cret@db/a/b",
    "mysql://u:s3cret@db/locks?ssl=true",
    "mysql://u:s3cret@db/locks?socket=/run/s.sock&ssl=true",
    "mysql://u:s3cret@db/locks?socket=s.sock",
    "mysql://u:s3cret@db/locks?socket=",
    "mysql://u:s3cret@db:3306/locks?socket=/run/s.sock",
    "mysql://u:s3cret@db:port/locks",
    "mysql://u:s3cret%@db/locks",
    "mysql://u:s3cret%zz@db/locks",
  ])("that cannot be used is refused with the accepted forms, and without its password: %s", async (url) => {
    const refusal = await openStore(url).then(
      () => null,
      (error: Error) => error,
    );
    expect(refusal?.message).toContain("mysql://user:password@host:port/database");
    expect(refusal?.message).toContain("sqlite:path");
    expect(`${refusal?.stack}${JSON.stringify(refusal)}${refusal?.cause}`).not.toContain("s3cret");
  });

  test("names several servers of one database, in the order of preference", () => {
    const first = { dialect: "mysql", host: "a", port: 3306, socket: null, user: "u", password: "p@,/" };
    const others = [
      { host: "b", port: 3307 },
      { host: "::1", port: 3306 },
      { host: "::2", port: 3308 },
    ];
    const url = "mysql://u:p%40%2C%2F@a,b:3307,[::1],[::2]:3308/locks";
    const parsed = parseDatabaseUrl(url);
    expect(parsed).toEqual({ ...first, database: "locks", others });
    const described = "mysql://u@a:3306,b:3307,[::1]:3306,[::2]:3308/locks";
    expect(describeDatabaseUrl(parsed)).toBe(described);
    expect(describeDatabaseUrl(parseDatabaseUrl(described))).toBe(described);
    expect(singleAddresses(parsed as MysqlAddress).map(({ host, port }) => `${host} ${port}`)).toEqual([
      "a 3306",
      "b 3307",
      "::1 3306",
      "::2 3308",
    ]);
    expect(parseDatabaseUrl("mysql://u:p,q@a,b/l,o")).toMatchObject({ password: "p,q", database: "l,o" });
  });

  test.for([
    [
      "mysql://u:s3cret@a,b:port,c:99999,a/locks",
      ['read as a URL, "b:port"', '"c:99999"', "names a:3306 twice"],
    ],
    ["mysql://u:s3cret@a,,b/locks", ["no host beside a comma"]],
    ["mysql://u:s3cret@a,b,/locks", ["no host beside a comma"]],
    ["mysql://u:s3cret@a,b:3306,b,a:3306/locks", ["names b:3306 twice", "names a:3306 twice"]],
    ["mysql://u:s3cret@a,b,c,d,e,f,g,h,i,j/locks", ["names 10 servers, and 9 are the most"]],
    ["mysql://u:s3cret@a,b/locks?socket=/s.sock", ["a socket leads to one server"]],
    ["mysql://u:s3cret@a,b/", ["does not name one database"]],
    ["mysql://a,b/locks", ["no @ after user"]],
    ["mysql://u:s3cret@a,b/locks?failover=true", ["nothing but ?socket="]],
  ] as const)(
    "with a list of servers that cannot be used is refused, with all faults at once: %s",
    ([url, faults]) => {
      for (const fault of faults) expect(() => parseDatabaseUrl(url)).toThrow(fault);
      expect(() => parseDatabaseUrl(url)).toThrow(/^(?:(?!s3cret)[\s\S])*$/);
    },
  );

  test.for([
    ["mysql://u:s3#cret@db/locks", "a # ", "%23"],
    ["mysql://u:1#s3cret@db/locks", "a # ", "%23"],
    ["mysql://u:s3@c#ret@db/locks", "a # ", "%23"],
    ["mysql://u:s3/cret@db/locks", "a / ", "%2F"],
    ["mysql://u:s3?cret@db/locks", "a ? ", "%3F"],
  ] as const)("with an unescaped password gets advice for it first: %s", ([url, what, encoded]) => {
    expect(() => parseDatabaseUrl(url)).toThrow(
      `cannot be used: ${what}in its user or password has to be percent-encoded, as ${encoded}.`,
    );
    expect(() => parseDatabaseUrl(url)).not.toThrow("cret@");
  });

  test("that a # has cut short in a file of settings gets advice for it", () => {
    expect(() => parseDatabaseUrl("mysql://u:s3")).toThrow(
      "cannot be used: it has no @ after user and password",
    );
  });

  test("may name a database that has an @ in its name", () => {
    expect(parseDatabaseUrl("mysql://u:p@db/lo@cks")).toMatchObject({ host: "db", database: "lo@cks" });
  });

  test("is described without its password", () => {
    for (const [url, described] of [
      ["mysql://u:s3cret@db/locks", "mysql://u@db:3306/locks"],
      ["mysql://u@[::1]/locks", "mysql://u@[::1]:3306/locks"],
      ["mysql://u:s3cret@localhost/locks?socket=/run/s.sock", "mysql://u@localhost/locks?socket=/run/s.sock"],
      [
        "mysql://u@localhost/locks?socket=/my%20db/%3F%23%25.sock",
        "mysql://u@localhost/locks?socket=/my%20db/%3F%23%25.sock",
      ],
      ["sqlite::memory:", "sqlite::memory:"],
    ] as const)
      expect(describeDatabaseUrl(parseDatabaseUrl(url))).toBe(described);
  });
});
