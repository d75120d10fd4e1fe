// When which connection is opened, and what is reported about it, with fake connections and the test's own timers.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import type {
  Connection,
  ConnectionOptions,
  News,
  Opened,
} from "../../../../clients/typescript/src/connection/connection.ts";
import { Connections } from "../../../../clients/typescript/src/connection/connections.ts";
import { type ConnectOptions, settingsOf } from "../../../../clients/typescript/src/options.ts";
import type { Reason } from "../../../../clients/typescript/src/reason.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";

type Made = Connection & {
  readonly options: ConnectionOptions & { readonly headers: object; readonly bytesMax?: number };
  opened: Opened | undefined;
  bytesMax: number;
  destroyed: number;
  readonly closedWithin: number[];
};
const made: Made[] = vi.hoisted(() => []);
const fake = vi.hoisted(
  () => (via: string) =>
    class {
      readonly via = via;
      opened: undefined;
      bytesMax = 4_096;
      destroyed = 0;
      readonly closedWithin: number[] = [];
      readonly options: { address: string };
      constructor(options: { address: string }) {
        this.options = options;
        made.push(this as never);
      }
      get address() {
        return this.options.address;
      }
      destroy() {
        this.destroyed += 1;
      }
      async close(withinMs: number) {
        this.closedWithin.push(withinMs);
      }
    },
);
vi.mock("../../../../clients/typescript/src/connection/session-connection.ts", () => ({
  SessionConnection: fake("session"),
}));
vi.mock("../../../../clients/typescript/src/connection/unary-connection.ts", () => ({
  UnaryConnection: fake("unary"),
}));
vi.mock("../../../../clients/typescript/src/channels.ts", () => ({ openChannel: () => ({}) }));

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(1);
  made.length = 0;
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const errorOf = (code: string, reason: Reason = "UNKNOWN") => new RowlockError(reason, code, `no: ${code}`);
const AWAY = errorOf("UNAVAILABLE");
const latest = () => made.at(-1) as Made;

async function stage(options: Partial<ConnectOptions> = {}) {
  const said: string[] = [];
  const state = { isNeeded: true };
  const connections: Connections = new Connections({
    settings: settingsOf({
      addresses: ["a", "b"],
      owner: "tester",
      labels: { host: "a1" },
      onConnection: (event) =>
        said.push(
          event.kind === "connected"
            ? `connected to ${event.address} via ${event.via}: ${event.replica}`
            : `disconnected from ${event.address}: ${(event.error as RowlockError).code}`,
        ),
      ...options,
    }),
    clock: new Clock(() => performance.now()),
    isNeeded: () => state.isNeeded,
    onBegun: ({ address }) => said.push(`begun ${address}`),
    onNews: ({ address }, news) => said.push(`news of ${address}: ${Object.keys(news)}`),
    onLeaving: ({ address }) => {
      said.push(`leaving ${address}`);
      // A callback may ask for another connection in the same turn.
      connections.need();
    },
    onEnded: ({ address }, { code }) => said.push(`ended ${address}: ${code}`),
    onHopeless: ({ code }, mayChange) => said.push(`hopeless${mayChange ? " for now" : ""}: ${code}`),
  });
  connections.need();
  await pass(0);
  return { connections, said, state };
}

function open(connection = latest()): void {
  connection.opened = { replica: "7", waitsMax: 9, commandsMax: 9 };
  connection.options.onNews({ opened: true }, 0);
}
const say = (news: News, connection = latest()) => connection.options.onNews(news, 0);
const end = (error: RowlockError, connection = latest()) => connection.options.onEnded(error);

describe("a connection", () => {
  test("is followed by a pause after each round in which all failed, longer each time, until one has lasted", async () => {
    await stage();
    for (const pauseMs of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
      end(AWAY);
      await pass(0);
      expect(latest().address).toBe("b");
      end(AWAY);
      const count = made.length;
      await pass(pauseMs - 1);
      expect(made).toHaveLength(count);
      await pass(1);
      expect([made.length, latest().address]).toEqual([count + 1, "a"]);
    }
    open();
    await pass(1_000);
    for (const address of ["b", "a"]) {
      end(AWAY);
      await pass(0);
      expect(latest().address).toBe(address);
    }
  });

  test("is not followed by another one while no call needs one", async () => {
    const { connections, state } = await stage();
    state.isNeeded = false;
    end(AWAY);
    await pass(10_000);
    expect(made).toHaveLength(1);
    connections.need();
    await pass(0);
    expect(made).toHaveLength(2);
  });

  test("whose server does not answer in time is ended, and the next server tried", async () => {
    const { connections, said } = await stage({ connectTimeout: 500 });
    await pass(499);
    expect(latest().destroyed).toBe(0);
    await pass(1);
    expect(made[0]?.destroyed).toBe(1);
    expect(said).toContain("ended a: UNAVAILABLE");
    expect(connections.lastError?.message).toBe("a did not answer within 500 ms.");
    await pass(1);
    expect(latest().address).toBe("b");
  });

  test("may take as long as it likes without a time-out", async () => {
    await stage({ connectTimeout: Number.POSITIVE_INFINITY });
    await pass(1e6);
    expect([made.length, latest().destroyed]).toEqual([1, 0]);
  });
});

describe("a server that stops", () => {
  test("is replaced by the next one, and still read until it has ended", async () => {
    const { connections, said } = await stage();
    open();
    await pass(1_000);
    const [first] = made as [Made];
    said.length = 0;
    say({ goingAway: true });
    expect(said).toEqual(["leaving a", "news of a: goingAway"]);
    expect(connections.open).toBeUndefined();
    await pass(0);
    expect(latest().address).toBe("b");
    said.length = 0;
    say({ results: [] }, first);
    say({ goingAway: true }, first);
    end(AWAY, first);
    expect(said).toEqual([
      "news of a: results",
      "news of a: goingAway",
      "disconnected from a: UNAVAILABLE",
      "ended a: UNAVAILABLE",
    ]);
    await pass(2_000);
    expect(made).toHaveLength(2);
  });
});

describe("if sessions are refused", () => {
  test.each(["UNIMPLEMENTED", "INTERNAL", "PERMISSION_DENIED", "UNKNOWN"])(
    "by %s, the same server gets calls at once, and the next one a session again",
    async (code) => {
      const { said } = await stage();
      end(errorOf(code));
      await pass(0);
      expect(latest()).toMatchObject({ address: "a", via: "unary" });
      expect(said.filter((one) => one.startsWith("hopeless"))).toEqual([]);
      open();
      expect(said).toContain("connected to a via unary: 7");
      end(AWAY);
      await pass(0);
      expect(latest()).toMatchObject({ address: "b", via: "session", options: { bytesMax: 1_024 } });
    },
  );

  test("with a reason of the server's, or after it had answered, that is a failure like any other", async () => {
    await stage();
    end(errorOf("INTERNAL", "INTERNAL"));
    await pass(0);
    expect(latest()).toMatchObject({ address: "b", via: "session" });
    open();
    end(errorOf("INTERNAL"));
    await pass(100);
    expect(latest()).toMatchObject({ address: "a", via: "session" });
  });

  test("and calls, too, the next server is tried", async () => {
    const { said } = await stage();
    end(errorOf("PERMISSION_DENIED"));
    await pass(0);
    end(errorOf("PERMISSION_DENIED"));
    await pass(0);
    expect(latest()).toMatchObject({ address: "b", via: "session" });
    expect(said).toContain("hopeless: PERMISSION_DENIED");
  });
});

describe("no server accepts this client", () => {
  test.each([
    errorOf("INVALID_ARGUMENT"),
    errorOf("UNAUTHENTICATED"),
    errorOf("RESOURCE_EXHAUSTED", "MESSAGE_TOO_LARGE"),
  ])("that is refused by %s before it was answered", async (error) => {
    const { said } = await stage();
    end(error);
    expect(said.at(-1)).toBe(`hopeless: ${error.code}`);
  });

  test("unless a server has answered before", async () => {
    const { said } = await stage();
    open();
    end(errorOf("UNAUTHENTICATED"));
    expect(said.filter((one) => one.startsWith("hopeless"))).toEqual([]);
  });
});

describe("credentials", () => {
  const WRONG = errorOf("UNAUTHENTICATED", "CREDENTIALS_WRONG");
  const hopeless = (said: string[]) => said.filter((one) => one.startsWith("hopeless"));

  test("that may change are asked for again before the calls fail, and after that with growing pauses", async () => {
    let count = 0;
    const { said } = await stage({ addresses: "localhost:1", token: () => `t${++count}` });
    end(WRONG);
    expect(hopeless(said)).toEqual([]);
    await pass(100);
    expect([made.length, latest().options.headers]).toEqual([2, { authorization: "Bearer t2" }]);
    for (const [index, pauseMs] of [200, 400, 800, 1_600, 2_000, 2_000].entries()) {
      end(WRONG);
      expect(hopeless(said)).toHaveLength(index + 1);
      await pass(pauseMs - 1);
      expect(made).toHaveLength(index + 2);
      await pass(1);
      expect(made).toHaveLength(index + 3);
    }
    expect(new Set(hopeless(said))).toEqual(new Set(["hopeless for now: UNAUTHENTICATED"]));
  });

  test("whose source is slow are asked for again like a server that is late", async () => {
    const { connections, said } = await stage({
      addresses: "localhost:1",
      connectTimeout: 500,
      token: () => new Promise(() => {}),
    });
    await pass(500);
    expect(connections.lastError?.message).toBe("The token's source did not return within 500 ms.");
    expect(hopeless(said)).toEqual([]);
  });
});

describe("an unused connection", () => {
  test("is closed after two idle checks in a row, and the next call opens another one", async () => {
    const { connections, state, said } = await stage({ idleAfter: 1_000 });
    open();
    state.isNeeded = false;
    await pass(1_000);
    expect(latest().closedWithin).toEqual([]);
    await pass(999);
    connections.need();
    await pass(1);
    expect(latest().closedWithin).toEqual([]);
    const [first] = made as [Made];
    said.length = 0;
    await pass(1_000);
    expect(first.closedWithin).toEqual([1_000]);
    expect(said.slice(0, 2)).toEqual(["leaving a", "disconnected from a: CANCELLED"]);
    // The callback above has asked for another connection.
    await pass(0);
    expect(made).toHaveLength(2);
    end(AWAY, first);
    expect(said.filter((one) => one.startsWith("ended"))).toEqual([]);
  });
});

describe("headers", () => {
  test("is sent with each connection, and requested anew", async () => {
    let count = 0;
    await stage({ headers: async () => ({ token: `${++count}` }) });
    expect(latest().options.headers).toEqual({ token: "1" });
    end(AWAY);
    await pass(0);
    expect(latest().options.headers).toEqual({ token: "2" });
    await stage({ headers: { token: "plain" } });
    expect(latest().options.headers).toEqual({ token: "plain" });
  });

  test("that is missing is a failure, and final, after which the next server is tried", async () => {
    let count = 0;
    const { connections, said } = await stage({
      headers: () => {
        count += 1;
        if (count === 1) throw new Error("no token");
        return {};
      },
    });
    expect(said).toEqual(["hopeless: UNAUTHENTICATED", "begun b"]);
    expect(connections.lastError?.message).toContain("no token");
    expect([made.length, latest().address]).toEqual([1, "b"]);
  });

  test("that is late is requested again, and is not final", async () => {
    let count = 0;
    const { said, connections } = await stage({
      connectTimeout: 500,
      headers: () => (++count === 1 ? new Promise(() => {}) : {}),
    });
    connections.need();
    await pass(500);
    await pass(1);
    expect([count, made.length, latest().address]).toEqual([2, 1, "b"]);
    expect(said).toEqual(["begun b"]);
    // The timeout for the headers has ended, and the one for the answer has begun.
    await pass(498);
    expect(latest().destroyed).toBe(0);
  });

  test("that comes after the close opens nothing", async () => {
    const answer = Promise.withResolvers<Record<string, string>>();
    const { connections } = await stage({ headers: () => answer.promise });
    await connections.close(0);
    answer.resolve({});
    await pass(0);
    expect(made).toEqual([]);
  });
});

describe("closing", () => {
  test("is in good order if the server has answered, and at once if it has not", async () => {
    const { connections } = await stage();
    open();
    say({ goingAway: true });
    await pass(100);
    await connections.close(700);
    expect(made.map(({ closedWithin, destroyed }) => [closedWithin, destroyed])).toEqual([
      [[700], 0],
      [[], 1],
    ]);
    expect([connections.open, vi.getTimerCount()]).toEqual([undefined, 0]);
    connections.need();
    end(AWAY);
    await pass(10_000);
    expect(made).toHaveLength(2);
  });
});

describe("leaving a server that cannot do what is asked", () => {
  test("ends its connection, and begins at the next server at once", async () => {
    const { connections, said } = await stage();
    open();
    await pass(999);
    connections.leave(AWAY);
    expect(latest().destroyed).toBe(0);
    await pass(1);
    connections.leave(AWAY);
    expect(made[0]?.destroyed).toBe(1);
    expect(said).toContain("ended a: UNAVAILABLE");
    await pass(0);
    expect(latest().address).toBe("b");
  });

  test("is not done if there is no other, or none is open", async () => {
    const alone = await stage({ addresses: ["a"] });
    open();
    await pass(5_000);
    alone.connections.leave(AWAY);
    expect(latest().destroyed).toBe(0);
    const other = await stage();
    end(AWAY);
    other.connections.leave(AWAY);
    expect(made.map(({ destroyed }) => destroyed)).toEqual([0, 0]);
  });
});
