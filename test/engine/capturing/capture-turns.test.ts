// Which captures run: clients take turns, within bounds; a cancelled call counts against them until its work is over.

import { expect, test } from "vitest";
import type { Claim } from "../../../server/core/claim.ts";
import type { Captured, CaptureInput } from "../../../server/engine/answers.ts";
import { Captures, type CapturesOptions } from "../../../server/engine/capturing/captures.ts";
import { CAPTURES_AT_ONCE_MAX, CAPTURES_QUEUED_EACH_MAX } from "../../../server/engine/engine-bounds.ts";

/** Captures that each stay in their first read until the test ends it. */
function scene() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  /** Each capture has its own request id, because attempts of one request wait for each other. */
  let requests = 0;
  const captures = new Captures({
    store: {
      claimsByRequest: async ([id = ""]: readonly string[]) => {
        begun.push(id.match(/\w+/)?.[0] ?? "");
        await new Promise<void>((resolve) => ends.push(resolve));
        return { nowUs: 0, claims: [{ state: "ended", requestId: id } as Claim] };
      },
    },
    observer: () => {},
  } as unknown as CapturesOptions);
  const ask = (client: string, isOver = () => false) =>
    captures.capture({
      input: { requestId: `${client}/${++requests}` } as CaptureInput,
      afterWait: false,
      caller: { getPeer: () => client },
      isOver,
    });
  const many = (client: string, count: number, isOver?: () => boolean): Promise<Captured>[] =>
    Array.from({ length: count }, () => ask(client, isOver));
  const settled = async () => {
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  };
  const end = async () => {
    ends.shift()?.();
    await settled();
  };
  return { begun, ask, many, settled, end };
}

test("captures are begun up to a bound, and clients take turns for the places that become free", async () => {
  const { begun, ask, many, settled, end } = scene();
  void many("greedy", CAPTURES_AT_ONCE_MAX + 500);
  void ask("polite");
  await settled();
  expect(begun).toHaveLength(CAPTURES_AT_ONCE_MAX);
  await end();
  await end();
  await end();
  const after = begun.slice(CAPTURES_AT_ONCE_MAX);
  expect(after).toEqual(["greedy", "polite", "greedy"]);
});

test("captures that are cancelled in the turn of their request never begin", async () => {
  const { begun, ask } = scene();
  let isOver = false;
  const asked = ask("a", () => isOver);
  isOver = true;
  expect(await asked).toEqual({ leases: [], retryAfterUs: null });
  expect(begun).toEqual([]);
});

test("cancelled captures keep their place, at work and in the queue, and never begin in the queue", async () => {
  const { begun, ask, many, settled, end } = scene();
  let isOver = false;
  void many("a", CAPTURES_AT_ONCE_MAX, () => isOver);
  await settled();
  const waiting = many("a", CAPTURES_QUEUED_EACH_MAX, () => isOver);
  await settled();
  isOver = true;
  await expect(ask("a")).rejects.toMatchObject({ kind: "overloaded", reason: "captures_queued" });
  expect(begun).toHaveLength(CAPTURES_AT_ONCE_MAX);
  await end();
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => ({ leases: [], retryAfterUs: null })));
  void ask("other");
  await settled();
  expect(begun.slice(CAPTURES_AT_ONCE_MAX)).toEqual(["other"]);
});
