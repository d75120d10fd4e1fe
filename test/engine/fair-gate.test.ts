// Whose turn it is if many callers wait, and which of them is refused if too many do.

import { beforeEach, describe, expect, test } from "vitest";
import type { Caller } from "../../server/core/command.ts";
import { FairGate } from "../../server/engine/fair-gate.ts";

let over: (() => void)[];
let order: string[];
beforeEach(() => {
  over = [];
  order = [];
});

const connection = (peer: string): Caller => ({ getPeer: () => peer });
const session = (principal = ""): Caller => ({ getPeer: () => "shared", source: {}, principal });
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Work that records when it begins, and runs until the test ends it. */
function ask(gate: FairGate, name: string, caller?: Caller): Promise<string> {
  return gate.run(() => {
    order.push(name);
    return new Promise<string>((resolve) => over.push(() => resolve(name)));
  }, caller);
}

async function endAll(): Promise<void> {
  while (over.length > 0) {
    over.shift()?.();
    await turn();
  }
}

describe("if many wait", () => {
  const own = new Map(["greedy", "polite", "late"].map((who) => [who, session()]));
  test.each<[string, (who: string) => Caller | undefined]>([
    ["connections", connection],
    ["sessions of one connection", (who) => own.get(who)],
    ["principals, however many sessions each has", session],
  ])("%s take turns, each in its own order", async (_what, by) => {
    const gate = new FairGate({ atOnce: 1, queuedMax: 100, bound: "b" });
    for (let index = 0; index < 5; index++) void ask(gate, `greedy ${index}`, by("greedy"));
    for (let index = 0; index < 2; index++) void ask(gate, `polite ${index}`, by("polite"));
    void ask(gate, "late 0", by("late"));
    await turn();
    expect(order).toEqual(["greedy 0"]);
    await endAll();
    expect(order.slice(1)).toEqual([
      "greedy 1",
      "polite 0",
      "late 0",
      "greedy 2",
      "polite 1",
      "greedy 3",
      "greedy 4",
    ]);
  });

  test("as many run at once as may, also when work fails", async () => {
    const gate = new FairGate({ atOnce: 2, queuedMax: 100, bound: "b_queued" });
    const failing = gate.run(() => Promise.reject(new Error("failed")));
    for (const name of ["a", "b", "c"]) void ask(gate, name);
    await expect(failing).rejects.toThrow("failed");
    await turn();
    expect(order).toEqual(["a", "b"]);
    expect(gate.bounds).toEqual([
      { bound: "b_queued", kind: "room", used: 1, max: 100 },
      { bound: "b_at_once", kind: "turns", used: 2, max: 2 },
    ]);
    await endAll();
    expect(gate.bounds.map(({ used }) => used)).toEqual([0, 0]);
    expect(order).toEqual(["a", "b", "c"]);
    for (const name of ["d", "e", "f"]) void ask(gate, name);
    await turn();
    expect(order.slice(3)).toEqual(["d", "e"]);
  });
});

describe("if too many wait", () => {
  test("the source with the most waits is refused, and not the last one", async () => {
    const gate = new FairGate({ atOnce: 1, queuedMax: 4, bound: "too_many" });
    const [greedy, polite] = [session(), session()];
    const outcomes = Array.from({ length: 5 }, (_, index) =>
      ask(gate, `greedy ${index}`, greedy).catch((error: { reason: string }) => error.reason),
    );
    void ask(gate, "polite 0", polite);
    expect(await outcomes[4]).toBe("too_many");
    await expect(ask(gate, "greedy 5", greedy)).rejects.toMatchObject({
      kind: "overloaded",
      reason: "too_many",
    });
    // A caller that would then have as many as the others displaces none of theirs.
    void ask(gate, "polite 1", polite);
    await expect(ask(gate, "polite 2", polite)).rejects.toMatchObject({ reason: "too_many" });
    await turn();
    await endAll();
    expect(order).toEqual(["greedy 0", "greedy 1", "polite 0", "greedy 2", "polite 1"]);
  });
});

describe("work that was cancelled", () => {
  test("never begins, and keeps its place in the queue until its turn", async () => {
    const gate = new FairGate({ atOnce: 1, queuedMax: 10, queuedEachMax: 3, bound: "b" });
    let isOver = false;
    expect(await gate.begin(connection("a"))).toBe(true);
    const waiting = Array.from({ length: 3 }, () => gate.begin(connection("a"), () => isOver));
    const other = gate.begin(connection("b"));
    isOver = true;
    await expect(gate.begin(connection("a"))).rejects.toMatchObject({ kind: "overloaded", reason: "b" });
    gate.end();
    expect([await waiting[0], await other]).toEqual([false, true]);
    gate.end();
    expect(await Promise.all(waiting)).toEqual([false, false, false]);
    expect(await gate.begin(connection("a"))).toBe(true);
  });

  test("before its request takes no place", async () => {
    const gate = new FairGate({ atOnce: 1, queuedMax: 1, bound: "b" });
    expect(await gate.begin(undefined, () => true)).toBe(false);
    expect(await gate.begin()).toBe(true);
  });
});
