// Open waits: when the server refuses another one, who is notified of the end, and that nothing of them remains.

import { describe, expect, test } from "vitest";
import type { CallError } from "../../server/grpc/messages/call-error.ts";
import { OpenWaits } from "../../server/grpc/open-waits.ts";
import { fakeCall } from "../support/fake-call.ts";
import { NO_BOUND } from "../support/no-bound.ts";

const MANY = 1_000;

const callOf = (peer = "one:1") => fakeCall({ getPeer: () => peer });
const ignoring = () => () => {};

/** The bound that refuses it; undefined if it is not refused. */
function refusalOf(enter: () => unknown): string | undefined {
  try {
    enter();
    return undefined;
  } catch (error) {
    return (error as CallError).details.metadata?.bound;
  }
}

describe("the waits of the whole server", () => {
  test("are bounded in total; one that ends makes room for another", () => {
    const waits = new OpenWaits(MANY, { ...NO_BOUND, waits: 4 });
    const leave = ["a:1", "b:1", "c:1", "d:1"].map((peer) => waits.enter(callOf(peer), ignoring()));
    const session = waits.ofSession(MANY);
    expect(refusalOf(() => waits.enter(callOf("e:1"), ignoring()))).toBe("server_waits");
    expect(refusalOf(() => session.enter(callOf("f:1"), ignoring()))).toBe("server_waits");
    expect(waits.count).toBe(4);
    leave[0]?.();
    leave[0]?.();
    session.enter(callOf("f:1"), ignoring());
    expect(refusalOf(() => waits.enter(callOf("e:1"), ignoring()))).toBe("server_waits");
  });

  test("are shared: when few are left, a client with many gets no more", () => {
    const waits = new OpenWaits(MANY, { ...NO_BOUND, waits: 160 });
    const greedy = waits.ofSession(MANY);
    for (let index = 0; index < 120; index++) greedy.enter(callOf(), ignoring());
    expect(refusalOf(() => greedy.enter(callOf(), ignoring()))).toBe("server_waits");
    const polite = waits.ofSession(MANY);
    for (let index = 0; index < 10; index++) polite.enter(callOf(), ignoring());
    for (let index = 0; index < 10; index++) waits.enter(callOf("two:2"), ignoring());
    expect(refusalOf(() => polite.enter(callOf(), ignoring()))).toBe("server_waits");
    expect(refusalOf(() => waits.enter(callOf("two:2"), ignoring()))).toBe("server_waits");
    expect(refusalOf(() => waits.enter(callOf("three:3"), ignoring()))).toBeUndefined();
  });

  test("are refused while memory is short, and open ones go on", () => {
    let isShort = false;
    const waits = new OpenWaits(MANY, { ...NO_BOUND, isShort: () => isShort });
    const stopped: Error[] = [];
    waits.enter(callOf(), (why) => stopped.push(why));
    isShort = true;
    expect(refusalOf(() => waits.enter(callOf(), ignoring()))).toBe("server_waits");
    isShort = false;
    expect(refusalOf(() => waits.enter(callOf(), ignoring()))).toBeUndefined();
    expect(stopped).toEqual([]);
  });
});

describe("an open wait", () => {
  test("holds its place in every bound until it is left, cancelled or not", () => {
    const waits = new OpenWaits(1, NO_BOUND);
    const session = waits.ofSession(1);
    const [own, inSession] = [callOf(), callOf()];
    const leaveOwn = waits.enter(own, ignoring());
    const leaveSession = session.enter(inSession, ignoring());
    own.cancel();
    inSession.cancel();
    expect(refusalOf(() => waits.enter(callOf(), ignoring()))).toBe("waits_on_connection");
    expect(refusalOf(() => session.enter(callOf(), ignoring()))).toBe("session_waits");
    leaveOwn();
    leaveSession();
    expect(waits.count).toBe(0);
    expect(refusalOf(() => waits.enter(callOf(), ignoring()))).toBeUndefined();
    expect(refusalOf(() => session.enter(callOf(), ignoring()))).toBeUndefined();
  });

  test("leaves nothing of its connection behind", () => {
    const waits = new OpenWaits(MANY, NO_BOUND);
    const leave = Array.from({ length: 50 }, (_, at) => waits.enter(callOf(`gone:${at % 25}`), ignoring()));
    expect(waits.connections).toBe(25);
    for (const one of leave) one();
    expect([waits.count, waits.connections]).toEqual([0, 0]);
  });
});
