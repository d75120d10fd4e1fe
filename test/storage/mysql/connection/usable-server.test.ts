// Which servers may be written: none that is read-only, no replication group member whose view of the members forbids
// it, and no Galera node that has left its cluster.

import { describe, expect, test } from "vitest";
import { type Connection, type Row, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import {
  askWhetherUsable,
  isUnusable,
  type Member,
  mustBeUsable,
  whyNotToWrite,
} from "../../../../server/storage/mysql/connection/usable-server.ts";
import { StoreError } from "../../../../server/storage/store.ts";

/** The first one is the member that is asked. */
const membersOf = (...all: string[]): Member[] =>
  all.map((each, index) => {
    const [state = "", role = ""] = each.split(" ");
    return { id: `member-${index}`, state, role };
  });
const why = (...all: string[]) => whyNotToWrite(membersOf(...all), "member-0");

describe("a member of a replication group", () => {
  test.each([
    [["ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY"]],
    [["ONLINE PRIMARY", "ONLINE PRIMARY", "ONLINE PRIMARY"]],
    [["ONLINE PRIMARY", "RECOVERING SECONDARY", "UNREACHABLE SECONDARY"]],
    [["ONLINE PRIMARY"]],
  ])("may be written: %s", (members) => {
    expect(why(...members)).toBeNull();
  });

  test.each([
    [["OFFLINE"], "OFFLINE"],
    [[], "OFFLINE"],
    [["ERROR", "ONLINE PRIMARY", "ONLINE SECONDARY"], "ERROR"],
    [["RECOVERING SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"], "RECOVERING"],
    [["ONLINE SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"], "not the primary"],
    [["ONLINE PRIMARY", "UNREACHABLE SECONDARY", "UNREACHABLE SECONDARY"], "1 of 3 members"],
    [["ONLINE PRIMARY", "UNREACHABLE SECONDARY"], "1 of 2 members"],
  ])("may not be written: %s", (members, said) => {
    expect(why(...members)).toContain(said);
  });

  test("that reaches exactly half of the members may not be written, and one with a majority may", () => {
    expect(why("ONLINE PRIMARY", "RECOVERING SECONDARY", "UNREACHABLE SECONDARY", "ERROR ")).toContain(
      "2 of 4",
    );
    expect(why("ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY", "UNREACHABLE SECONDARY")).toBeNull();
  });
});

describe("a server", () => {
  /** Whether the server is usable, from its answers; the members are read only if there is a group. */
  const usable = (
    settings: Readonly<Record<string, string>>,
    status: Readonly<Record<string, string>> = {},
    members: readonly Row[] | Error = new Error("The members were read."),
  ) => {
    const trip = new Trip("set-up");
    trip.add("SELECT 1");
    const place = askWhetherUsable(trip);
    expect([place, trip.length]).toEqual([1, 3]);
    const run = async () => {
      if (members instanceof Error) throw members;
      return [members];
    };
    const results = [[], Object.entries(settings), Object.entries(status)];
    return mustBeUsable({ run } as unknown as Connection, results, place);
  };
  const GROUP = { group_replication_group_name: "group-1", server_uuid: "member-0" };
  const GALERA = { wsrep_provider: "/usr/lib/galera.so", wsrep_on: "ON" };
  const PRIMARY = {
    wsrep_cluster_status: "Primary",
    wsrep_ready: "ON",
    wsrep_cluster_state_uuid: "cluster-1",
  };

  test("outside any cluster may be written, and belongs to no cluster", async () => {
    expect(await usable({})).toBeNull();
    expect(await usable({ read_only: "OFF", super_read_only: "0", innodb_read_only: "OFF" })).toBeNull();
    expect(await usable({ group_replication_group_name: "", wsrep_provider: "none" })).toBeNull();
    expect(await usable({ wsrep_provider: "", wsrep_on: "OFF" })).toBeNull();
  });

  test.each(["read_only", "super_read_only", "innodb_read_only"])(
    "with %s may not be written",
    async (name) => {
      for (const value of ["ON", "1", "NO_LOCK"])
        await expect(usable({ [name]: value })).rejects.toMatchObject({
          kind: "unavailable",
          reason: "read_only",
          message: expect.stringContaining(`(${name} is on)`),
        });
    },
  );

  test("of a group that counts with it is known by the group", async () => {
    const members: Row[] = [
      ["member-0", "ONLINE", "PRIMARY"],
      ["member-1", "ONLINE", "SECONDARY"],
    ];
    expect(await usable(GROUP, {}, members)).toBe("group-1");
    await expect(usable({ ...GROUP, server_uuid: "member-1" }, {}, members)).rejects.toMatchObject({
      reason: "cluster_not_ready",
      message: expect.stringMatching(/group group-1, and it is not the primary/),
    });
    await expect(usable({ group_replication_group_name: "group-1" }, {}, members)).rejects.toMatchObject({
      message: expect.stringContaining("OFFLINE"),
    });
  });

  test("whose members the user may not see is refused with the missing privilege; other failures stay themselves", async () => {
    const cause = new Error("refused");
    const denied = new StoreError("unavailable", "access_denied", "No.", { cause });
    await expect(usable(GROUP, {}, denied)).rejects.toMatchObject({
      kind: "unavailable",
      reason: "access_denied",
      message: expect.stringMatching(/group-1.*GRANT SELECT ON performance_schema/),
      cause,
    });
    for (const other of [new StoreError("transient", "connection_lost", "Lost."), new Error("a bug")])
      await expect(usable(GROUP, {}, other)).rejects.toBe(other);
  });

  test("of Galera that counts with it is known by the cluster, if that has a name", async () => {
    expect(await usable(GALERA, PRIMARY)).toBe("cluster-1");
    expect(await usable(GALERA, { ...PRIMARY, wsrep_cluster_state_uuid: "" })).toBeNull();
  });

  test.each([
    [
      "that left its cluster",
      GALERA,
      { ...PRIMARY, wsrep_cluster_status: "non-Primary" },
      "is non-Primary and",
    ],
    ["that is not ready", GALERA, { ...PRIMARY, wsrep_ready: "OFF" }, "wsrep_ready is OFF"],
    ["that says nothing", GALERA, {}, "is undefined"],
    ["that was taken out by hand", { ...GALERA, wsrep_on: "OFF" }, PRIMARY, "wsrep_on is OFF"],
  ])("of Galera %s may not be written", async (_, settings, status, said) => {
    await expect(usable(settings, status)).rejects.toMatchObject({
      kind: "unavailable",
      reason: "cluster_not_ready",
      message: expect.stringContaining(said),
    });
  });

  test("is unusable if it turns out to be read-only or without its cluster, and not otherwise", () => {
    const error = (reason: string) => new StoreError("unavailable", reason, "No.");
    expect(["read_only", "cluster_not_ready", "full"].map((reason) => isUnusable(error(reason)))).toEqual([
      true,
      true,
      false,
    ]);
    expect(isUnusable(Object.assign(new Error("a bug"), { reason: "read_only" }))).toBe(false);
  });
});
