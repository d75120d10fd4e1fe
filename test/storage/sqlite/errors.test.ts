// What each result code of SQLite means, and what the message advises the operator. Needs no failing disk.

import { describe, expect, test } from "vitest";
import { sqliteError } from "../../../server/storage/sqlite/errors.ts";
import { StoreError } from "../../../server/storage/store.ts";

const FILE = "/data/rowlock.db";
const failed = (errcode: unknown, message = "as SQLite says it") =>
  Object.assign(new Error(message), { errcode });
/** A row with the primary key of another one. */
const KEY_EXISTS = 1555;
const sameRequest = () => failed(KEY_EXISTS, "UNIQUE constraint failed: rowlock_request.request_key");
const meaning = (errcode: number, committing?: boolean) => {
  const error = sqliteError(failed(errcode), FILE, committing);
  return error instanceof StoreError ? `${error.kind} ${error.reason}` : error;
};

describe("an error of SQLite", () => {
  test.each([
    [5, "unavailable in_use"],
    [6, "unavailable in_use"],
    [8, "unavailable read_only"],
    [10, "unavailable io_error"],
    [11, "unavailable corrupt"],
    [13, "unavailable full"],
    [14, "unavailable cannot_open"],
    [26, "unavailable corrupt"],
    // Extended codes mean what their primary codes do.
    [10 | (4 << 8), "unavailable io_error"],
    [8 | (1 << 8), "unavailable read_only"],
  ])("%i is %s", (code, expected) => {
    expect(meaning(code)).toBe(expected);
  });

  test("is a request that another one repeats, if its request id has a row", () => {
    expect(sqliteError(sameRequest(), FILE)).toMatchObject({
      kind: "transient",
      reason: "duplicate_request",
    });
  });

  test("keeps its cause for the log, and names the file", () => {
    for (const cause of [failed(10), failed(13), sameRequest()]) {
      expect(sqliteError(cause, FILE)).toMatchObject({ cause });
    }
    expect(sqliteError(failed(13), FILE)).toMatchObject({ message: expect.stringContaining(FILE) });
  });

  test("that only a bug can cause is not changed, nor is an error that is not SQLite's", () => {
    for (const error of [
      failed(19),
      failed(1),
      failed("13"),
      failed(KEY_EXISTS, "UNIQUE constraint failed: rowlock_claim.lock_id, rowlock_claim.place"),
      failed(2067, "UNIQUE constraint failed: rowlock_lock.name"),
      new Error("a bug"),
      "a text",
      { errcode: 13 },
      null,
    ])
      expect(sqliteError(error, FILE)).toBe(error);
  });
});

test("a log that cannot be written leaves the outcome open only if COMMIT was sent", () => {
  const cause = failed(10);
  expect(sqliteError(cause, FILE, true)).toMatchObject({
    kind: "unknown_outcome",
    reason: "io_error",
    message: expect.stringContaining("while committing"),
    cause,
  });
  expect(meaning(10, false)).toBe("unavailable io_error");
  expect(meaning(13, true)).toBe("unavailable full");
});
