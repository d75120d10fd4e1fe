// The options: what is refused, and what follows from them; and the contents of errors that the client makes itself.

import { describe, expect, test } from "vitest";
import { marginOf, settingsOf } from "../../../../clients/typescript/src/options.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { dateOf, durationOf, msOf } from "../../../../clients/typescript/src/times.ts";

describe("settings", () => {
  test.each(["connectTimeout", "giveUpAfter", "idleAfter"] as const)(
    "need a %s that a timer can be set to",
    (name) => {
      const of = (ms: number) => () => settingsOf({ addresses: "a", [name]: ms });
      for (const ms of [0, -1, Number.NaN, 2 ** 31, Number.NEGATIVE_INFINITY])
        expect(of(ms)).toThrow(RangeError);
      for (const ms of [0.5, 1, 2 ** 31 - 1, Number.POSITIVE_INFINITY]) expect(of(ms)).not.toThrow();
    },
  );

  test("need a name for a TLS server whose address is a number", () => {
    const of = (addresses: string, tls: boolean | object | undefined) => () =>
      settingsOf({ addresses, ...(tls !== undefined && { tls }) });
    for (const address of ["127.0.0.1:443", "[::1]:443", "127.0.0.1"]) {
      expect(of(address, true)).toThrow("use the name in the certificate");
      expect(of(address, {})).toThrow("use the name in the certificate");
      expect(of(address, { serverName: "here" })).not.toThrow();
      expect(of(address, false)).not.toThrow();
      expect(of(address, undefined)).not.toThrow();
    }
    expect(of("localhost:443", true)).not.toThrow();
    expect(of("localhost:443", {})).not.toThrow();
    for (const serverName of ["127.0.0.1", "::1"])
      expect(of("127.0.0.1:443", { serverName })).toThrow(
        `tls.serverName: use the name in the certificate instead of ${serverName}`,
      );
  });
});

describe("the margin of a lease", () => {
  test.each([
    [{}, 2_000],
    [{ ttl: 5_000 }, 500],
    [{ ttl: 20_000 }, 2_000],
    [{ ttl: 60_000 }, 2_000],
    [{ ttl: "forever" }, 0],
    [{ ttl: "forever", margin: 9 }, 0],
    [{ ttl: 1_000, margin: 0 }, 0],
    [{ ttl: 1_000, margin: 499 }, 499],
  ] as const)("of %j is %i ms", (asked, ms) => {
    expect(marginOf(asked)).toBe(ms);
  });

  test.each([-1, 500, Number.NaN])("cannot be %d ms of 1,000", (margin) => {
    expect(() => marginOf({ ttl: 1_000, margin })).toThrow("must be less than half of the ttl of 1000 ms");
  });
});

describe("an error", () => {
  test("of ours does not change, and any other error is a bug that keeps its cause", () => {
    const own = RowlockError.closed();
    expect(RowlockError.of(own)).toBe(own);
    const bug = new TypeError("a bug");
    expect(RowlockError.of(bug)).toMatchObject({ reason: "UNKNOWN", code: "INTERNAL", cause: bug });
    expect(RowlockError.unsendable(bug)).toMatchObject({
      reason: "BAD_REQUEST",
      message: "The request cannot be encoded: a bug",
    });
    expect(RowlockError.unsendable("text").message).toBe("The request cannot be encoded: text");
  });

  test.each([
    ["OVERLOADED", "RESOURCE_EXHAUSTED", true, true],
    ["DATABASE_UNAVAILABLE", "UNAVAILABLE", true, true],
    ["SHUTTING_DOWN", "UNAVAILABLE", true, true],
    ["CREDENTIALS_EXPIRED", "UNAUTHENTICATED", true, false],
    ["UNKNOWN", "UNAVAILABLE", false, true],
    ["OUTCOME_UNKNOWN", "ABORTED", false, false],
    ["BAD_REQUEST", "INVALID_ARGUMENT", false, false],
  ] as const)("by %s (%s) means that nothing was done: %s; that another try can help: %s", (...row) => {
    const [reason, code, isUndone, isTransient] = row;
    expect(new RowlockError(reason, code, "")).toMatchObject({ isUndone, isTransient });
  });
});

test("times are rounded to the microsecond, even those before 1970", () => {
  expect(durationOf(1_500.000_4)).toEqual({ seconds: 1n, nanos: 500_000_000 });
  expect(durationOf(0.001)).toEqual({ seconds: 0n, nanos: 1_000 });
  expect(durationOf(-1.5)).toEqual({ seconds: -1n, nanos: 998_500_000 });
  expect(msOf({ $typeName: "google.protobuf.Duration", seconds: 2n, nanos: 250_000 })).toBe(2_000.25);
  const instant = { $typeName: "google.protobuf.Timestamp" as const, seconds: -1n, nanos: 998_999_999 };
  expect(dateOf(instant)).toEqual(new Date(-2));
});
