// Whose captures are at work: in turn by client, within bounds that a cancelled call goes on filling until its work is over.

import { describe, expect, test } from "vitest";
import { CaptureTurns } from "../../../server/engine/capturing/capture-turns.ts";
import {
  CAPTURES_AT_ONCE_MAX,
  CAPTURES_QUEUED_EACH_MAX,
  CAPTURES_QUEUED_MAX,
} from "../../../server/engine/engine-bounds.ts";
import type { Fault } from "../../../server/engine/faults.ts";

class Asked {
  isCancelled = false;
  isBegun = false;
  readonly client: string;
  readonly #work = Promise.withResolvers<string>();
  readonly result: Promise<string | null | Error>;

  constructor(turns: CaptureTurns, client: string, begun: Asked[]) {
    this.client = client;
    const work = () => {
      this.isBegun = true;
      begun.push(this);
      return this.#work.promise;
    };
    this.result = turns.run(client, () => this.isCancelled, work).catch((error: Error) => error);
  }

  end(): void {
    this.#work.resolve("done");
  }
}

function scene() {
  const turns = new CaptureTurns();
  const begun: Asked[] = [];
  const ask = (client: string) => new Asked(turns, client, begun);
  const many = (client: string, count: number) => Array.from({ length: count }, () => ask(client));
  /** What was begun has had its turn of the event loop. */
  const settled = async () => {
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  };
  return { turns, begun, ask, many, settled };
}

describe("captures", () => {
  test("are begun up to a bound, and the next one when one is over", async () => {
    const { begun, many, settled } = scene();
    const all = many("a", CAPTURES_AT_ONCE_MAX + 1);
    await settled();
    expect(begun).toHaveLength(CAPTURES_AT_ONCE_MAX);
    all[0]?.end();
    await settled();
    expect(begun).toHaveLength(CAPTURES_AT_ONCE_MAX + 1);
    for (const one of all) one.end();
    expect(await Promise.all(all.map(({ result }) => result))).toEqual(all.map(() => "done"));
  });

  test("of a newcomer come before those that somebody else has asked for by the hundred", async () => {
    const { begun, ask, many, settled } = scene();
    const greedy = many("greedy", CAPTURES_AT_ONCE_MAX + 500);
    const [polite, other] = [ask("polite"), ask("other")];
    await settled();
    for (let over = 0; over < 3; over++) greedy[over]?.end();
    await settled();
    expect([polite, other].every(({ isBegun }) => isBegun)).toBe(true);
    expect(begun.slice(CAPTURES_AT_ONCE_MAX).map(({ client }) => client)).toEqual([
      "greedy",
      "polite",
      "other",
    ]);
  });

  test("that were cancelled before their turn are never begun, and keep their place until then", async () => {
    const { begun, ask, many, settled } = scene();
    const working = many("a", CAPTURES_AT_ONCE_MAX);
    const cancelled = many("a", CAPTURES_QUEUED_EACH_MAX);
    for (const one of cancelled) one.isCancelled = true;
    expect(await ask("a").result).toMatchObject({ reason: "captures_queued" });
    working[0]?.end();
    await settled();
    expect(await Promise.all(cancelled.map(({ result }) => result))).toEqual(cancelled.map(() => null));
    expect(begun).toHaveLength(CAPTURES_AT_ONCE_MAX);
    const next = ask("a");
    await settled();
    expect(next.isBegun).toBe(true);
  });

  test("that are cancelled in the breath in which they were asked for are never begun", async () => {
    const { begun, ask } = scene();
    const asked = ask("a");
    asked.isCancelled = true;
    expect(await asked.result).toBeNull();
    expect(begun).toEqual([]);
  });

  test("that were cancelled while they are at work keep their place until that is over", async () => {
    const { ask, many, settled } = scene();
    const working = many("a", CAPTURES_AT_ONCE_MAX);
    await settled();
    for (const one of working) one.isCancelled = true;
    const next = ask("b");
    await settled();
    expect(next.isBegun).toBe(false);
    working[0]?.end();
    await settled();
    expect(next.isBegun).toBe(true);
  });

  test("beyond what may wait are refused to whoever has asked for most", async () => {
    const { ask, many, settled } = scene();
    many("working", CAPTURES_AT_ONCE_MAX);
    const clients = CAPTURES_QUEUED_MAX / CAPTURES_QUEUED_EACH_MAX;
    const greedy = Array.from({ length: clients }, (_, index) =>
      many(`greedy ${index}`, CAPTURES_QUEUED_EACH_MAX),
    );
    const polite = ask("polite");
    await settled();
    const results = await Promise.all(
      greedy.map((all) => Promise.race([all.at(-1)?.result, settled().then(() => "waits")])),
    );
    expect(results.filter((result) => result instanceof Error)).toHaveLength(1);
    expect(await Promise.race([polite.result, settled().then(() => "waits")])).toBe("waits");
    expect(await ask("greedy 1").result).toMatchObject({ reason: "captures_queued" });
  });

  describe("where all places to wait are taken", () => {
    /** Nine clients that may not have more, one with one less, and one with one. */
    function crowd() {
      const all = scene();
      const working = all.many("working", CAPTURES_AT_ONCE_MAX);
      const greedy = Array.from({ length: CAPTURES_QUEUED_MAX / CAPTURES_QUEUED_EACH_MAX - 1 }, (_, index) =>
        all.many(`greedy ${index}`, CAPTURES_QUEUED_EACH_MAX),
      );
      const less = all.many("less", CAPTURES_QUEUED_EACH_MAX - 1);
      const one = all.many("one", 1);
      const answered = new Map<Asked, unknown>();
      for (const asked of [...greedy.flat(), ...less, ...one])
        void asked.result.then((result) => answered.set(asked, result));
      return { ...all, working, greedy, less, one, answered };
    }

    test("who has most loses the last of it to who comes, wherever that stands", async () => {
      const { ask, settled, greedy, answered } = crowd();
      const polite = ask("polite");
      let isRefused = false;
      void polite.result.then(() => {
        isRefused = true;
      });
      await settled();
      expect(isRefused).toBe(false);
      expect([...answered.keys()]).toEqual([greedy[0]?.at(-1)]);
      expect([...answered.values()]).toMatchObject([
        { kind: "overloaded", retryAfterMs: expect.any(Number) },
      ]);
    });

    test("who would have as many as who has most takes none of theirs", async () => {
      const { ask, settled, answered } = crowd();
      const refused = (await ask("less").result) as Fault;
      expect(refused).toMatchObject({ kind: "overloaded", reason: "captures_queued" });
      expect(refused.retryAfterMs).toBeGreaterThan(0);
      await settled();
      expect(answered.size).toBe(0);
    });

    test("who has been given up is not refused, and takes nobody's place", async () => {
      const { settled, answered, turns } = crowd();
      const work = () => expect.unreachable();
      expect(await turns.run("gone", () => true, work)).toBeNull();
      await settled();
      expect(answered.size).toBe(0);
    });

    test("all of them are free again when those that waited are gone", async () => {
      const { ask, many, settled, working, greedy, less, one } = crowd();
      const polite = ask("polite");
      for (const asked of [...greedy.flat(), ...less, ...one, polite]) asked.isCancelled = true;
      working[0]?.end();
      await settled();
      // One is at work again, and the others wait.
      const next = Array.from({ length: CAPTURES_QUEUED_MAX / CAPTURES_QUEUED_EACH_MAX }, (_, index) =>
        many(`next ${index}`, CAPTURES_QUEUED_EACH_MAX),
      ).flat();
      let answered = 0;
      for (const { result } of next) void result.then(() => (answered += 1));
      await settled();
      expect(answered).toBe(0);
      expect(next.filter(({ isBegun }) => isBegun)).toHaveLength(1);
    });
  });
});
