// ForceRelease of a lock with more holders than one call may end, each as large as allowed: the answer still fits
// within what clients accept.

import { expect, test } from "vitest";
import { Mode } from "#proto/rowlock/v1/lock_pb.js";
import {
  FORCE_RELEASE_MAX,
  LABEL_KEY_BYTES_MAX,
  LABELS_MAX,
  NAME_BYTES_MAX,
  TEXT_BYTES_MAX,
} from "../../../server/core/bounds.ts";
import { startServer } from "../../support/harness.ts";

test("it is done in two calls", async () => {
  const server = await startServer();
  try {
    const name = "n".repeat(NAME_BYTES_MAX);
    const text = "t".repeat(TEXT_BYTES_MAX);
    const labels = Object.fromEntries(
      Array.from({ length: LABELS_MAX }, (_, index) => [`${index}`.padEnd(LABEL_KEY_BYTES_MAX, "k"), text]),
    );
    const holder = { name, mode: Mode.SHARED, terms: { owner: text, labels } };
    await Promise.all(Array.from({ length: FORCE_RELEASE_MAX + 1 }, () => server.client.lease(holder)));

    const target = { case: "name" as const, value: name };
    const all = () => server.client.call("forceRelease", { target, reason: text });
    const first = await all();
    const numbers = first.ended.map(({ ticketNumber }) => Number(ticketNumber));
    expect(numbers).toEqual(Array.from({ length: FORCE_RELEASE_MAX }, (_, index) => index + 1));
    expect(first.remaining).toBe(1);
    expect(await all()).toMatchObject({
      ended: [{ ticketNumber: BigInt(FORCE_RELEASE_MAX + 1) }],
      remaining: 0,
    });
    expect(await all()).toMatchObject({ ended: [], remaining: 0 });
  } finally {
    await server.stop();
  }
});
