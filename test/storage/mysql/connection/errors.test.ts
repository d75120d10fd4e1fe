// What each database or network error means: the table, its edge cases, and what messages must not contain.

import { describe, expect, test } from "vitest";
import { bugOf, classify, deadlineError } from "../../../../server/storage/mysql/connection/errors.ts";

const SQL = "INSERT INTO rowlock_claim VALUES (X'73656372657421')";

function serverError(errno: number, message = "as the server says it", sqlState = "HY000"): Error {
  return Object.assign(new Error(message), { errno, sqlState, code: `ER_${errno}`, sql: SQL });
}

function networkError(code: string, fatal = true): Error {
  return Object.assign(new Error(code), { code, errno: -104, fatal });
}

const meaning = (error: Error, commitSent = false) => {
  const { error: known, reconnect } = classify(error, commitSent);
  return `${known.kind} ${known.reason}${reconnect ? ", reconnect" : ""}`;
};

const LOST = "transient connection_lost, reconnect";
const UNKNOWN = "unavailable unexpected, reconnect";
const plain = (more: object) => Object.assign(new Error("x"), more);
const of = (code: string, error: unknown, expected: string): [string, unknown, string] => [
  code,
  error,
  expected,
];

describe("an error of the server", () => {
  test.each([
    [1213, "transient deadlock"],
    [1205, "transient lock_wait_timeout"],
    [3572, "transient lock_wait_timeout"],
    [1020, "transient row_changed"],
    [1048, "transient changed"],
    [1062, "transient duplicate_request"],
    [1927, "transient connection_lost, reconnect"],
    [4031, "transient connection_lost, reconnect"],
    [1317, "transient connection_lost, reconnect"],
    [1180, "transient commit_failed, reconnect"],
    [1047, "unavailable cluster_not_ready, reconnect"],
    [1290, "unavailable read_only, reconnect"],
    [1792, "unavailable read_only, reconnect"],
    [1836, "unavailable read_only, reconnect"],
    [1053, "unavailable shutting_down, reconnect"],
    [1021, "unavailable full"],
    [1114, "unavailable full"],
    [3, "unavailable full"],
    [1665, "unavailable binlog_format"],
    [1146, "unavailable schema, reconnect"],
    [1054, "unavailable schema, reconnect"],
    [1049, "unavailable no_database, reconnect"],
    [1044, "unavailable access_denied, reconnect"],
    [1045, "unavailable access_denied, reconnect"],
    [1142, "unavailable access_denied, reconnect"],
    [1862, "unavailable access_denied, reconnect"],
    [3118, "unavailable access_denied, reconnect"],
    [4151, "unavailable access_denied, reconnect"],
    [3159, "unavailable tls, reconnect"],
    [1040, "unavailable too_many_connections, reconnect"],
    [1969, "unavailable timeout, reconnect"],
    [3024, "unavailable timeout, reconnect"],
    [65_000, "unavailable unexpected, reconnect"],
  ])("%i is %s", (errno, expected) => {
    expect(meaning(serverError(errno))).toBe(expected);
  });

  test("with SQLSTATE 40001 is a rolled back transaction, whatever its number", () => {
    expect(meaning(serverError(65_001, "conflict", "40001"))).toBe("transient deadlock");
  });

  test("means the same in every language", () => {
    for (const errno of [1048, 1062, 1213]) {
      const messages = [
        "Duplicate entry 'x' for key 'PRIMARY'",
        "'x' は索引 'PRIMARY' で重複しています。",
        "",
      ];
      const meanings = messages.map((message) => meaning(serverError(errno, message, "23000")));
      expect(new Set(meanings).size).toBe(1);
    }
  });

  test("of a wrong statement is a bug; of a missing table or a lost connection it is not", () => {
    expect(bugOf(serverError(1064, "syntax", "42000"))).toBeInstanceOf(Error);
    expect(bugOf(serverError(1146, "no table", "42S02"))).toBeNull();
    expect(bugOf(networkError("ECONNRESET"))).toBeNull();
  });
});

test.each<[string, Error, string]>([
  ["1180", serverError(1180), "unknown_outcome commit_failed, reconnect"],
  ["1047", serverError(1047), "unknown_outcome cluster_not_ready, reconnect"],
  ["1053", serverError(1053), "unknown_outcome shutting_down, reconnect"],
  ["1317", serverError(1317), "unknown_outcome connection_lost, reconnect"],
  ["65000", serverError(65_000), "unknown_outcome unexpected, reconnect"],
  ["ECONNRESET", networkError("ECONNRESET"), "unknown_outcome connection_lost, reconnect"],
  [
    "a lost connection",
    networkError("PROTOCOL_CONNECTION_LOST"),
    "unknown_outcome connection_lost, reconnect",
  ],
  ["our own deadline", deadlineError(), "unknown_outcome timeout, reconnect"],
  ["1213", serverError(1213), "transient deadlock"],
  ["1205", serverError(1205), "transient lock_wait_timeout"],
  ["1290", serverError(1290), "unavailable read_only, reconnect"],
  ["1114", serverError(1114), "unavailable full"],
])(
  "after COMMIT was sent, %s leaves open whether it was committed, or means that it was not",
  (_, error, expected) => {
    expect(meaning(error, true)).toBe(expected);
  },
);

test.each<[string, unknown, string]>([
  ...["ECONNRESET", "EPIPE", "PROTOCOL_CONNECTION_LOST"].map((code) => of(code, networkError(code), LOST)),
  ...["ECONNREFUSED", "ENOENT", "ENOTSOCK", "EACCES", "ENOTFOUND", "ETIMEDOUT"].map((code) =>
    of(code, networkError(code), "unavailable unreachable, reconnect"),
  ),
  ["our own deadline", deadlineError(), "unavailable timeout, reconnect"],
  ["one without a code that the driver calls fatal", plain({ fatal: true }), LOST],
  ["one that it does not call fatal", plain({ fatal: false }), UNKNOWN],
  ["one of which it says nothing", plain({}), UNKNOWN],
  ["a fatal one with a number of the server", plain({ fatal: true, errno: 65_000 }), UNKNOWN],
  // The operating system's numbers are not the server's.
  ["the number -1213", plain({ errno: -1213 }), UNKNOWN],
  ["the number 0, if fatal", plain({ errno: 0, fatal: true }), LOST],
  ["a text", "a text", UNKNOWN],
  ["null", null, UNKNOWN],
  ["what is no error", { errno: 1213, fatal: true }, UNKNOWN],
  ["a number that is text", plain({ errno: "1213" }), UNKNOWN],
])("an error of the network, or with little information: %s", (_, error, expected) => {
  expect(meaning(error as Error)).toBe(expected);
});

test("no message holds SQL, and the cause is attached without it", () => {
  const cause = serverError(1213);
  const { error } = classify(cause);
  expect(error.cause).toBe(cause);
  expect(`${error.message}${JSON.stringify(cause)}${error.stack}`).not.toContain("INSERT");
  const bug = bugOf(serverError(1064, "syntax", "42000"));
  expect(bug?.message).toContain("1064");
  expect(JSON.stringify(bug?.cause)).not.toContain("INSERT");
});

test("an error is no bug, unless the server blames the statement", () => {
  expect(bugOf("a text")).toBeNull();
  expect(bugOf({ sqlState: "42000" })).toBeNull();
  expect(bugOf(Object.assign(new Error("x"), { sqlState: 42_000 }))).toBeNull();
  expect(bugOf(serverError(65_000))).toBeNull();
  for (const state of ["21000", "22003", "23000", "42000"])
    expect(bugOf(serverError(65_000, "wrong", state))?.message).toContain("error 65000");
});

describe("the message for an operator", () => {
  const message = (cause: unknown) => classify(cause).error.message;

  test("ends with the number of the server's error, or the network's name for it", () => {
    expect(message(serverError(1114))).toMatch(/in its tables \(error 1114\)\.$/);
    expect(message(networkError("ECONNREFUSED"))).toMatch(/: nothing listens .* \(ECONNREFUSED\)\.$/);
    expect(message(serverError(1290))).toMatch(/switch-over is in progress \(error 1290\)\.$/);
    expect(message(serverError(1146))).toMatch(/that this server needs: .* \(error 1146\)\.$/);
    expect(message(serverError(1146))).toContain("rowlock migrate up");
    expect(message(serverError(1049))).toMatch(/CREATE DATABASE.* \(error 1049\)\.$/);
  });

  test("leaves out words that are no names of the network", () => {
    for (const code of ["PROTOCOL_CONNECTION_LOST", "ERR_9", "not an ECONNRESET", "E", 5])
      expect(message(Object.assign(new Error("x"), { code, fatal: true }))).toMatch(/[a-z]\.$/);
    expect(message("a text")).toMatch(/does not know\.$/);
  });
});
