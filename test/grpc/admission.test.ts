// How many commands of one client the engine decides at a time, and what happens to those that wait for admission.

import { beforeEach, describe, expect, test } from "vitest";
import { Admission, AdmissionRoom } from "../../server/grpc/admission.ts";
import { ConnectionCalls } from "../../server/grpc/connection-calls.ts";
import { COMMANDS_AT_ONCE } from "../../server/grpc/grpc-bounds.ts";
import { type CallError, ClientGone } from "../../server/grpc/messages/call-error.ts";
import type { MethodContext } from "../../server/grpc/methods/method.ts";

interface Running {
  readonly what: string;
  readonly done: () => void;
  readonly failed: (error: Error) => void;
}

let running: Running[];
beforeEach(() => {
  running = [];
});

const run = (what: string) => () =>
  new Promise<string>((resolve, reject) => running.push({ what, done: () => resolve(what), failed: reject }));
const names = () => running.map(({ what }) => what);
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function end(index: number): Promise<void> {
  running[index]?.done();
  await turn();
}

describe("a client's commands", () => {
  test("are few in the engine at a time, and renewals and releases pass by its others", async () => {
    const verbs = { acquire: run("acquire"), renew: run("renew"), release: run("release") };
    const engine = new Admission(new AdmissionRoom(2, 1), "session_commands").admit(verbs as never);
    for (let index = 0; index < 4; index++) void engine.acquire({} as never, null);
    void engine.renew({} as never, undefined);
    void engine.release({} as never);
    expect(names()).toEqual(["acquire", "acquire"]);
    await end(0);
    expect(names().slice(2)).toEqual(["renew"]);
    await end(1);
    await end(2);
    await end(3);
    expect(names().slice(3)).toEqual(["release", "acquire", "acquire"]);
  });

  test("that fail make room, at once or later", async () => {
    const admission = new Admission(new AdmissionRoom(1, 1), "session_commands");
    const late = admission.run(false, undefined, run("late"));
    const next = admission.run(false, undefined, () => {
      throw new Error("at once");
    });
    const last = admission.run(false, undefined, run("last"));
    running[0]?.failed(new Error("later"));
    await expect(late).rejects.toThrow("later");
    await expect(next).rejects.toThrow("at once");
    await turn();
    expect(names()).toEqual(["late", "last"]);
    running[1]?.done();
    await expect(last).resolves.toBe("last");
    await turn();
    expect([admission.underWay, admission.queued]).toEqual([0, 0]);
  });

  test("that are cancelled keep their place until they are over, and are dropped where they have not begun", async () => {
    const admission = new Admission(new AdmissionRoom(1, 1), "session_commands");
    const calls = Array.from({ length: 4 }, () => ({ cancelled: false }));
    const answers = calls.map((call, index) => admission.run(false, call, run(`${index}`)));
    const dropped = answers.slice(1, 3).map((answer) => answer.catch((error: unknown) => error));
    for (const call of calls.slice(0, 3)) call.cancelled = true;
    await turn();
    expect([names(), admission.underWay]).toEqual([["0"], 1]);
    await end(0);
    expect(names()).toEqual(["0", "3"]);
    for (const answer of dropped) expect(await answer).toBeInstanceOf(ClientGone);
    await end(1);
    expect([admission.underWay, admission.queued]).toEqual([0, 0]);
  });

  test("share the room with those of all other clients that have any, and have it again when those are over", async () => {
    const room = new AdmissionRoom(8, 2);
    const clients = ["a", "b", "c"].map((name) => ({ name, admission: new Admission(room, "bound") }));
    const ask = (count: number, at: number) => {
      const { name, admission } = clients[at] as (typeof clients)[number];
      for (let index = 0; index < count; index++) void admission.run(false, undefined, run(name));
    };
    const underWay = () => clients.map(({ admission }) => admission.underWay);
    ask(20, 0);
    expect(underWay()).toEqual([8, 0, 0]);
    ask(20, 1);
    ask(1, 2);
    // A client that comes late starts at once; a client above its share starts nothing more until it is below.
    expect(underWay()).toEqual([8, 4, 1]);
    for (let index = 0; index < 7; index++) await end(index);
    expect(underWay()).toEqual([2, 4, 1]);
    const last = running.findIndex(({ what }) => what === "c");
    await end(last);
    for (let index = 7; index < running.length && index < 12; index++) if (index !== last) await end(index);
    expect(underWay().map((count) => count <= 4)).toEqual([true, true, true]);
    for (let index = 0; running.length > index; index++) await end(index);
    expect(underWay()).toEqual([0, 0, 0]);
    expect(room.busy).toBe(0);
    expect(running).toHaveLength(41);
  });

  test("of so many clients that the room is less than one for each are some all the same", () => {
    const room = new AdmissionRoom(4, 2);
    const clients = Array.from({ length: 10 }, () => new Admission(room, "bound"));
    for (const admission of clients)
      for (let index = 0; index < 5; index++) void admission.run(false, undefined, run("x"));
    expect(clients.map(({ underWay }) => underWay)).toEqual([4, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
  });

  test("that wait are bounded", async () => {
    const admission = new Admission(new AdmissionRoom(1, 1), "session_commands", 2);
    const go = () => admission.run(false, undefined, run("x"));
    for (let index = 0; index < 3; index++) void go();
    expect(go).toThrow(
      expect.objectContaining({
        reason: "OVERLOADED",
        details: expect.objectContaining({ metadata: { bound: "session_commands" } }),
      }),
    );
    await end(0);
    void go();
    expect(go).toThrow();
  });
});

describe("the calls on one connection", () => {
  const context = { engine: { acquire: run("acquire") } } as unknown as MethodContext;
  const from = (peer: string) => ({ getPeer: () => peer });
  const boundOf = (go: () => unknown) => {
    try {
      go();
      return "none";
    } catch (error) {
      return (error as CallError).details.metadata?.bound;
    }
  };

  test("are bounded until their work is over, and others' are not", async () => {
    const calls = new ConnectionCalls(context, 2, new AdmissionRoom());
    const go = (peer: string) => calls.run(from(peer), run(peer));
    void go("one");
    void go("one");
    expect(boundOf(() => go("one"))).toBe("calls_on_connection");
    void go("two");
    await end(0);
    void go("one");
    expect(boundOf(() => go("one"))).toBe("calls_on_connection");
  });

  test("share one place in the engine, and leave nothing behind", async () => {
    const calls = new ConnectionCalls(context, 10_000, new AdmissionRoom());
    const ask = (peer: string) => calls.run(from(peer), ({ engine }) => engine.acquire({} as never, null));
    for (let index = 0; index < COMMANDS_AT_ONCE + 10; index++) void ask("greedy");
    expect(running).toHaveLength(COMMANDS_AT_ONCE);
    void ask("polite");
    expect(running).toHaveLength(COMMANDS_AT_ONCE + 1);
    expect(calls.connections).toBe(2);
    while (running.length > 0) {
      for (const { done } of running.splice(0)) done();
      await turn();
    }
    expect(calls.connections).toBe(0);
  });

  test("that fail at once are over at once", () => {
    const calls = new ConnectionCalls(context, 1, new AdmissionRoom());
    const fail = () => {
      throw new Error("refused");
    };
    expect(() => calls.run(from("one"), fail)).toThrow("refused");
    expect(calls.connections).toBe(0);
  });
});

describe("of the engine's verbs", () => {
  const call = { cancelled: true };
  /** The argument index at which each verb takes the call that waits for its answer. */
  const TAKING_TURNS = [
    ["acquire", 2],
    ["capture", 1],
    ["attach", 2],
    ["setLimit", 4],
    ["setLimitRule", 4],
    ["forceRelease", 3],
    ["updateLock", 1],
    ["deleteLock", 2],
  ] as const;
  type Verbs = Readonly<Record<string, (...asked: unknown[]) => unknown>>;
  /** An engine whose verbs return their arguments, for a client whose only place is taken. */
  function full() {
    const admission = new Admission(new AdmissionRoom(1, 1), "session_commands");
    void admission.run(false, undefined, run("first"));
    const verbs = new Proxy(
      {},
      {
        get:
          (_, verb) =>
          (...asked: unknown[]) => [verb, ...asked],
      },
    );
    const engine = admission.admit(verbs as never) as unknown as Verbs;
    const ask = (verb: string, ...asked: unknown[]) => engine[verb]?.(...asked);
    return { admission, ask };
  }

  test.each(TAKING_TURNS)(
    "%s waits for its turn, and is dropped when nobody waits for it",
    async (verb, at) => {
      const { admission, ask } = full();
      const asked = Array.from({ length: at }, (_, index) => index);
      const dropped = expect(ask(verb, ...asked, call)).rejects.toBeInstanceOf(ClientGone);
      expect(admission.queued).toBe(1);
      await end(0);
      await dropped;
    },
  );

  test.each(TAKING_TURNS)("%s is asked as its client has asked it when its turn comes", async (verb, at) => {
    const { admission } = full();
    const engine = admission.admit({
      [verb]: async (...asked: unknown[]) => asked,
    } as never) as unknown as Verbs;
    const asked = [...Array.from({ length: at }, (_, index) => index), { cancelled: false }];
    const answer = engine[verb]?.(...asked);
    await end(0);
    await expect(answer).resolves.toEqual(asked);
  });

  test.each(["renew", "release", "confirm"])(
    "%s goes before the others, and is not dropped",
    async (verb) => {
      const begun: string[] = [];
      const { admission } = full();
      const engine = admission.admit({
        acquire: async () => begun.push("acquire"),
        [verb]: async (...asked: unknown[]) => {
          begun.push(verb);
          return asked;
        },
      } as never) as unknown as Verbs;
      const other = engine.acquire?.({}, null);
      const answer = engine[verb]?.("a", call);
      await end(0);
      await expect(answer).resolves.toEqual(["a", call]);
      await other;
      expect(begun).toEqual([verb, "acquire"]);
    },
  );

  test.each([
    "captureWhenFree",
    "detach",
    "onLost",
    "place",
    "holders",
    "limit",
    "view",
    "views",
    "limits",
    "watchLocks",
  ])("%s takes no room", (verb) => {
    const { admission, ask } = full();
    expect(ask(verb, 1, 2)).toEqual([verb, 1, 2]);
    expect(admission.queued).toBe(0);
  });

  test("the time needs none either", () => {
    const engine = new Admission(new AdmissionRoom(1, 1), "session_commands").admit({
      nowUs: () => 7,
    } as never);
    expect(engine.nowUs()).toBe(7);
  });
});
