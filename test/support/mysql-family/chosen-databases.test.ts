// The databases of a run decide what it proves, so the parsing of that setting is tested itself.
import { describe, expect, it } from "vitest";
import { chosenDatabases } from "./chosen-databases.ts";

describe("ROWLOCK_TEST_DATABASES", () => {
  it.each([undefined, "", " , "])("chooses everything, none by name, when it is %o", (setting) => {
    expect(chosenDatabases(setting)).toEqual({
      sqlite: true,
      flavours: new Set(["mariadb", "mysql"]),
      galera: false,
      byName: false,
    });
  });

  it("leaves servers out when only SQLite is named", () => {
    expect(chosenDatabases("sqlite")).toEqual({
      sqlite: true,
      flavours: new Set(),
      galera: false,
      byName: true,
    });
  });

  it("takes several names", () => {
    expect(chosenDatabases("mariadb, sqlite")).toEqual({
      sqlite: true,
      flavours: new Set(["mariadb"]),
      galera: false,
      byName: true,
    });
  });

  it("takes Galera only by its name", () => {
    expect(chosenDatabases("sqlite,galera")).toEqual({
      sqlite: true,
      flavours: new Set(),
      galera: true,
      byName: true,
    });
  });

  it("refuses a name that is no database", () => {
    expect(() => chosenDatabases("sqlite,postgres")).toThrow("no such database: postgres");
  });
});
