// How many commands of one client the engine decides at a time, and what happens to those that wait for admission.

import { create } from "@bufbuild/protobuf";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { NOBODY } from "../../server/access/access.ts";
import { Usage } from "../../server/access/usage.ts";
import { CROWDED_FOR_MS } from "../../server/engine/engine-bounds.ts";
import { ClientGone } from "../../server/engine/faults.ts";
import { Admission, admitted, SharedAdmission } from "../../server/grpc/admission.ts";
import { ConnectionCalls } from "../../server/grpc/call-frame.ts";
import {
  COMMANDS_AT_ONCE,
  COMMANDS_PER_TICK_MAX,
  CROWDED_COMMANDS_PER_TICK_MAX,
  LATE_MS,
} from "../../server/grpc/grpc-bounds.ts";
import type { CallError } from "../../server/grpc/messages/call-error.ts";
import { type AnyVerb, checked, ROWS, type VerbName } from "../../server/grpc/verbs.ts";
import { fakeCall } from "../support/fake-call.ts";

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
const ORDINARY = { isUrgent: false };
const URGENT = { isUrgent: true };

async function end(index: number): Promise<void> {
  running[index]?.done();
  await turn();
}

describe("a client's commands", () => {
  test("are bounded in the engine, and renewals and releases overtake the client's other commands", async () => {
    const admission = new Admission(new SharedAdmission(2, 1), "session_commands");
    for (let index = 0; index < 4; index++) void admitted(admission, ORDINARY, run("acquire"));
    void admitted(admission, URGENT, run("renew"));
    void admitted(admission, URGENT, run("release"));
    expect(names()).toEqual(["acquire", "acquire"]);
    await end(0);
    expect(names().slice(2)).toEqual(["renew"]);
    await end(1);
    await end(2);
    await end(3);
    expect(names().slice(3)).toEqual(["release", "acquire", "acquire"]);
  });

  test("are refused while the next one has waited for long, with a time to come back, but renewals and releases are not", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    try {
      const admission = new Admission(new SharedAdmission(1, 1), "session_commands");
      for (let index = 0; index < 3; index++) void admitted(admission, ORDINARY, run("acquire"));
      vi.advanceTimersByTime(LATE_MS);
      void admitted(admission, ORDINARY, run("acquire"));
      vi.advanceTimersByTime(1);
      // Three wait, the first for half a second: one is served each sixth of a second. So it is a second and two sixths.
      expect(() => admitted(admission, ORDINARY, run("refused"))).toThrow(
        expect.objectContaining({
          reason: "OVERLOADED",
          details: expect.objectContaining({ retryAfterMs: 1_400 }),
        }),
      );
      void admitted(admission, URGENT, run("renew"));
      await end(0);
      expect(names()).toEqual(["acquire", "renew"]);
      await end(1);
      await end(2);
      await end(3);
      // The next one has waited for a millisecond.
      void admitted(admission, ORDINARY, run("last"));
      expect(admission.queued).toBe(1);
    } finally {
      vi.useRealTimers();
    }
  });

  test("that fail make room, at once or later", async () => {
    const admission = new Admission(new SharedAdmission(1, 1), "session_commands");
    const late = admitted(admission, ORDINARY, run("late"));
    const next = admitted(admission, ORDINARY, () => {
      throw new Error("at once");
    });
    const last = admitted(admission, ORDINARY, run("last"));
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

  test("that are cancelled keep their place until they are over, and are dropped if they have not begun", async () => {
    const admission = new Admission(new SharedAdmission(1, 1), "session_commands");
    const calls = Array.from({ length: 4 }, () => fakeCall());
    const answers = calls.map((call, index) => admitted(admission, call, run(`${index}`)));
    const dropped = answers.slice(1, 3).map((answer) => answer.catch((error: unknown) => error));
    for (const call of calls.slice(0, 3)) call.cancel();
    await turn();
    expect([names(), admission.underWay]).toEqual([["0"], 1]);
    await end(0);
    expect(names()).toEqual(["0", "3"]);
    for (const answer of dropped) expect(await answer).toBeInstanceOf(ClientGone);
    await end(1);
    expect([admission.underWay, admission.queued]).toEqual([0, 0]);
  });

  test("share the room with the commands of other clients, and get it back when those end", async () => {
    const admission = new SharedAdmission(8, 2);
    const clients = ["a", "b", "c"].map((name) => ({ name, admission: new Admission(admission, "bound") }));
    const ask = (count: number, at: number) => {
      const { name, admission } = clients[at] as (typeof clients)[number];
      for (let index = 0; index < count; index++) void admitted(admission, ORDINARY, run(name));
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
    expect(admission.busy).toBe(0);
    expect(running).toHaveLength(41);
  });

  test("of several clients make a crowd, until a second after they last came together", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const admission = new SharedAdmission();
    void admitted(new Admission(admission, "bound"), ORDINARY, run("a"));
    expect(admission.isCrowded).toBe(false);
    void admitted(new Admission(admission, "bound"), ORDINARY, run("b"));
    await end(1);
    vi.advanceTimersByTime(CROWDED_FOR_MS - 1);
    expect(admission.isCrowded).toBe(true);
    vi.advanceTimersByTime(1);
    expect(admission.isCrowded).toBe(false);
    vi.useRealTimers();
  });

  test("are read in turns: all sessions of a principal that use up their turns share one, in a crowd", () => {
    const admission = new SharedAdmission();
    const sessions = Array.from({ length: 5 }, () => ({}));
    const turns = () => sessions.map((session) => admission.commandsInTick(session, "token:a", true)).at(-1);
    expect(turns()).toBe(COMMANDS_PER_TICK_MAX);
    void admitted(new Admission(admission, "bound"), ORDINARY, run("a"));
    void admitted(new Admission(admission, "bound"), ORDINARY, run("b"));
    expect(turns()).toBe(CROWDED_COMMANDS_PER_TICK_MAX / 5);
    expect(admission.commandsInTick({}, "token:b", true)).toBe(CROWDED_COMMANDS_PER_TICK_MAX);
    // Nobody is asked who they are: each session is a client.
    expect([{}, {}].map((session) => admission.commandsInTick(session, "", true))).toEqual([20, 20]);
    for (const session of sessions.slice(1)) admission.left(session, "token:a");
    expect(admission.commandsInTick(sessions[0] as object, "token:a", true)).toBe(
      CROWDED_COMMANDS_PER_TICK_MAX,
    );
    expect(admission.commandsInTick(sessions[0] as object, "token:a", false)).toBe(COMMANDS_PER_TICK_MAX);
  });

  test("are admitted in part even if there are more clients than room", () => {
    const admission = new SharedAdmission(4, 2);
    const clients = Array.from({ length: 10 }, () => new Admission(admission, "bound"));
    for (const admission of clients)
      for (let index = 0; index < 5; index++) void admitted(admission, ORDINARY, run("x"));
    expect(clients.map(({ underWay }) => underWay)).toEqual([4, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
  });

  test("that wait are bounded", async () => {
    const admission = new Admission(new SharedAdmission(1, 1), "session_commands", 2);
    const go = () => admitted(admission, ORDINARY, run("x"));
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
  const { waits } = fakeCall().client;
  const boundOf = (go: () => unknown) => {
    try {
      go();
      return "none";
    } catch (error) {
      return (error as CallError).details.metadata?.bound;
    }
  };

  test("are bounded until their work is over, and those of others are not", () => {
    const calls = new ConnectionCalls(2, new SharedAdmission(), waits, new Usage());
    const open = (peer: string) => calls.enter(peer, NOBODY);
    const first = open("one");
    open("one");
    expect(boundOf(() => open("one"))).toBe("calls_on_connection");
    open("two");
    calls.leave(first);
    open("one");
    expect(boundOf(() => open("one"))).toBe("calls_on_connection");
  });

  test("share one place in the engine, and leave nothing behind", async () => {
    const calls = new ConnectionCalls(10_000, new SharedAdmission(), waits, new Usage());
    const ask = (peer: string) => {
      const client = calls.enter(peer, NOBODY);
      return admitted(client.admission, ORDINARY, run("acquire")).finally(() => calls.leave(client));
    };
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
});

describe("of the verbs", () => {
  const LEASE_ID = "1.z.abcdefghijklmnopqrstuv";
  const name = "a";
  /** A request of each verb that passes its check. */
  const REQUESTS: Readonly<Record<VerbName, object>> = {
    release: { leaseId: LEASE_ID },
    renew: { leaseId: LEASE_ID },
    renewLeases: { leases: [{ leaseId: LEASE_ID }] },
    forceRelease: { target: { case: "name", value: name }, reason: "a test" },
    setLimit: { target: { case: "name", value: name }, newLimit: { case: "limit", value: 1 } },
    updateRecord: { name, status: "new" },
    deleteRecord: { name },
    acquire: { name },
    capture: { from: { case: "prefix", value: "" }, maxLeases: 1 },
    waitInQueue: { target: { case: "request" as const, value: { name } } },
    getLock: { name },
    listLocks: {},
    listLimits: {},
    listClaims: {},
    listChanges: {},
    explainWait: { target: { case: "name", value: name } },
    watchLocks: {},
  };
  const OTHERS: readonly (readonly [VerbName, object])[] = [
    ["setLimit", { target: { case: "pattern", value: "a*" }, newLimit: { case: "limit", value: 1 } }],
    ["acquire", { name, whenBusy: { case: "wait" as const, value: {} } }],
    ["waitInQueue", { target: { case: "ticketId", value: LEASE_ID } }],
  ];
  const all = [...(Object.entries(REQUESTS) as [VerbName, object][]), ...OTHERS];
  const admittedAs = (...kinds: AnyVerb["admission"][]) =>
    all.filter(([verb]) => kinds.includes((ROWS[verb] as AnyVerb).admission));

  /** A client whose only place is taken, and what its engine was asked for. */
  function full() {
    const admission = new Admission(new SharedAdmission(1, 1), "session_commands");
    void admitted(admission, ORDINARY, run("first"));
    const asked: string[] = [];
    const never = new Promise(() => {});
    const answers: Readonly<Record<string, unknown>> = {
      nowUs: 0,
      views: (async function* () {})(),
      limits: (async function* () {})(),
      claims: (async function* () {})(),
      changes: (async function* () {})(),
      watchLocks: { next: () => never, close() {} },
    };
    const get = (_: object, verb: string) => () => {
      if (verb !== "nowUs") asked.push(verb);
      return answers[verb] ?? never;
    };
    const methods = { engine: new Proxy({}, { get }), graceUs: 1 } as never;
    const ask = (verb: VerbName, request: object) => {
      const row = ROWS[verb] as AnyVerb;
      const client = { ...fakeCall().client, admission };
      const call = fakeCall({ client, isUrgent: row.admission === "urgent" });
      const message = create(row.of.input, request as never);
      row.begin(methods, checked(row, message, methods), call);
      return { call, answer: call.replied };
    };
    return { admission, asked, ask };
  }

  test.each(admittedAs("ordinary"))(
    "%s waits for its turn, and is dropped when its caller has left: %o",
    async (verb, request) => {
      const { admission, asked, ask } = full();
      const { call, answer } = ask(verb, request);
      const dropped = expect(answer).rejects.toBeInstanceOf(ClientGone);
      call.cancel();
      ask(verb, request);
      expect([admission.queued, asked]).toEqual([2, []]);
      await end(0);
      await dropped;
      expect([admission.queued, asked.length]).toEqual([0, 1]);
    },
  );

  test.each(admittedAs("urgent"))(
    "%s overtakes the others, and is not dropped: %o",
    async (verb, request) => {
      const { admission, asked, ask } = full();
      ask("acquire", { name });
      const { call } = ask(verb, request);
      expect(admission.queued).toBe(2);
      call.cancel();
      await end(0);
      expect([admission.queued, asked.length]).toEqual([1, 1]);
      expect(asked).not.toContain("acquire");
    },
  );

  test.each(admittedAs("none"))("%s takes no room", async (verb, request) => {
    const { admission, asked, ask } = full();
    ask(verb, request);
    expect([admission.queued, asked.length]).toEqual([0, 1]);
  });

  test("a capture that waits takes no room", () => {
    const { admission, asked, ask } = full();
    ask("capture", { ...REQUESTS.capture, maxWait: { seconds: 1n } });
    expect([admission.queued, asked]).toEqual([0, ["captureWhenFree"]]);
  });
});
