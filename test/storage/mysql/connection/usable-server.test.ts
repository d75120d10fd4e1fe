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

test.each<[null | string, ...string[]]>([
  [null, "ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY"],
  [null, "ONLINE PRIMARY", "ONLINE PRIMARY", "ONLINE PRIMARY"],
  [null, "ONLINE PRIMARY", "RECOVERING SECONDARY", "UNREACHABLE SECONDARY"],
  [null, "ONLINE PRIMARY"],
  [null, "ONLINE PRIMARY", "ONLINE SECONDARY", "ONLINE SECONDARY", "UNREACHABLE SECONDARY"],
  ["OFFLINE", "OFFLINE"],
  ["OFFLINE"],
  ["ERROR", "ERROR", "ONLINE PRIMARY", "ONLINE SECONDARY"],
  ["RECOVERING", "RECOVERING SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"],
  ["not the primary", "ONLINE SECONDARY", "ONLINE PRIMARY", "ONLINE SECONDARY"],
  ["1 of 3 members", "ONLINE PRIMARY", "UNREACHABLE SECONDARY", "UNREACHABLE SECONDARY"],
  ["1 of 2 members", "ONLINE PRIMARY", "UNREACHABLE SECONDARY"],
  // Half of the members are no majority.
  ["2 of 4", "ONLINE PRIMARY", "RECOVERING SECONDARY", "UNREACHABLE SECONDARY", "ERROR "],
])(
  "a member of a replication group may be written, or not for this reason: %s, if it is %s",
  (said, ...all) => {
    const members = all.map((each, index): Member => {
      const [state = "", role = ""] = each.split(" ");
      return { id: `member-${index}`, state, role };
    });
    const why = whyNotToWrite(members, "member-0");
    if (said === null) expect(why).toBeNull();
    else expect(why).toContain(said);
  },
);

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

  test.each<[string | null, Record<string, string>, Record<string, string>?]>([
    [null, {}],
    [null, { read_only: "OFF", super_read_only: "0", innodb_read_only: "OFF" }],
    [null, { group_replication_group_name: "", wsrep_provider: "none" }],
    [null, { wsrep_provider: "", wsrep_on: "OFF" }],
    ["cluster-1", GALERA, PRIMARY],
    [null, GALERA, { ...PRIMARY, wsrep_cluster_state_uuid: "" }],
  ])("may be written, and belongs to the cluster %s: %j %j", async (cluster, settings, status) => {
    expect(await usable(settings, status)).toBe(cluster);
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

  test.each([
    ["that left its cluster", GALERA, { ...PRIMARY, wsrep_cluster_status: "non-Primary" }, "is non-Primary"],
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
    const reasons = ["read_only", "cluster_not_ready", "full"].filter((reason) =>
      isUnusable(new StoreError("unavailable", reason, "No.")),
    );
    expect(reasons).toEqual(["read_only", "cluster_not_ready"]);
    expect(isUnusable(Object.assign(new Error("a bug"), { reason: "read_only" }))).toBe(false);
  });
});
