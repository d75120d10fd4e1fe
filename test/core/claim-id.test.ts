// Ticket and lease ids: what is formatted can be parsed, and nothing else can.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CLAIM_ID_CHARS_MAX } from "../../server/core/bounds.ts";
import { formatClaimId, parseClaimId } from "../../server/core/claim.ts";
import { seed } from "../support/seed.ts";

const SECRET = "AAAAAAAAAAAAAAAAAAAA_-";

describe("a claim id", () => {
  test("is read as it was written, for every lock, ticket number and secret", () => {
    const number = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n });
    const secret = fc.stringMatching(/^[A-Za-z0-9_-]{22}$/);
    const property = fc.property(number, number, secret, (lockId, ticketNumber, drawn) => {
      const ref = { lockId, ticketNumber, secret: drawn };
      const id = formatClaimId(ref);
      expect(id.length).toBeLessThanOrEqual(CLAIM_ID_CHARS_MAX);
      expect(parseClaimId(id)).toEqual(ref);
    });
    fc.assert(property, { seed });
  });

  test.each([
    ["nothing", ""],
    ["no secret", "1.1."],
    ["a secret that is too short", `1.1.${SECRET.slice(1)}`],
    ["a secret that is too long", `1.1.${SECRET}A`],
    ["a secret with other characters", `1.1.${SECRET.slice(1)}+`],
    ["a number in upper case", `A.1.${SECRET}`],
    ["a negative number", `-1.1.${SECRET}`],
    ["a missing number", `.1.${SECRET}`],
    ["lock 0", `0.1.${SECRET}`],
    ["ticket number 0", `1.0.${SECRET}`],
    ["a lock with a zero before it", `01.1.${SECRET}`],
    ["a ticket number with zeros before it", `1.00z.${SECRET}`],
    ["a lock beyond 63 bits", `1y2p0ij32e8e8.1.${SECRET}`],
    ["a ticket number beyond 63 bits", `1.zzzzzzzzzzzzz.${SECRET}`],
    ["a further part", `1.1.${SECRET}.1`],
    ["a trailing line break", `1.1.${SECRET}\n`],
    ["leading blanks", ` 1.1.${SECRET}`],
    ["a megabyte", "1".repeat(1_000_000)],
  ])("cannot be %s", (_what, id) => {
    expect(parseClaimId(id)).toBeNull();
  });
});
