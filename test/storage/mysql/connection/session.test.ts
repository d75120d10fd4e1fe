// One connection in use: which errors its callers get, when it may be used again, and what the server is sent about
// waiting for locks. The connection is a fake, which answers when the test says so.

import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Connection } from "mysql2";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Session, wasGone } from "../../../../server/storage/mysql/connection/session.ts";
import { Trip } from "../../../../server/storage/mysql/connection/trip.ts";
import { GOODBYE_MS_MAX, LOCK_WAIT_S } from "../../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../../server/storage/store.ts";

type Answer = (error: unknown, results?: unknown) => void;

class FakeConnection extends EventEmitter {
  readonly sent: { readonly sql: string; readonly values: unknown[]; readonly rowsAsArray: boolean }[] = [];
  readonly answers: Answer[] = [];
  onEnd: (() => void) | null = null;
  destroyed = 0;

  query(query: { sql: string; values: unknown[]; rowsAsArray: boolean }, answer: Answer): void {
    this.sent.push(query);
    this.answers.push(answer);
  }

  /** Answers the most recent statement. */
  answer(results: unknown): void {
    this.answers.at(-1)?.(null, results);
  }

  fail(error: object): void {
    this.answers.at(-1)?.(Object.assign(new Error("as the server says it"), error));
  }

  end(done: () => void): void {
    this.onEnd = done;
  }

  destroy(): void {
    this.destroyed += 1;
  }
}

let connection: FakeConnection;
let socket: EventEmitter & { destroy: () => void };
let session: Session;
const seen: string[] = [];
beforeEach(() => {
  vi.useFakeTimers();
  seen.length = 0;
  connection = new FakeConnection();
  socket = Object.assign(new EventEmitter(), { destroy: () => void seen.push("socket destroyed") });
  session = new Session(connection as unknown as Connection, socket as unknown as Socket, {
    statement: (name, seconds) => void seen.push(`${name} ${seconds >= 0}`),
    transaction() {},
    connection: (event) => void seen.push(event),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

function tripOf(...statements: string[]): Trip {
  const trip = new Trip("trip");
  for (const sql of statements) trip.add(sql);
  return trip;
}
const committing = () => {
  const trip = tripOf("UPDATE a");
  trip.addCommit();
  return trip;
};
const outcome = (running: Promise<unknown>) => running.catch((error: unknown) => error);
const GONE = { code: "ECONNRESET" };

describe("a trip", () => {
  test("is answered with the results of its statements, in order, and is timed", async () => {
    const trip = tripOf("SELECT 1", "SELECT 2");
    trip.add("SELECT ?", 7n);
    const running = session.run(trip);
    connection.answer([["a"], ["b"], ["c"]]);
    expect(await running).toEqual([["a"], ["b"], ["c"]]);
    expect(connection.sent).toEqual([
      { sql: "SELECT 1;\nSELECT 2;\nSELECT ?", values: [7n], rowsAsArray: true },
    ]);
    expect(seen).toEqual(["trip true"]);
    expect([session.sent, session.answered]).toEqual([1, 1]);
  });

  test("of one statement has a list of one result", async () => {
    const running = session.run(tripOf("SELECT 1"));
    connection.answer([["row"]]);
    expect(await running).toEqual([[["row"]]]);
  });

  test("can be answered with rows by the names of columns", async () => {
    const running = session.runNamed(tripOf("SELECT 1 AS a"));
    connection.answer([{ a: 1 }]);
    expect(await running).toEqual([{ a: 1 }]);
    expect(connection.sent[0]?.rowsAsArray).toBe(false);
    expect(seen).toEqual(["trip true"]);
  });

  test("that the server refuses fails, and the connection goes on", async () => {
    const running = outcome(session.run(tripOf("UPDATE a")));
    connection.fail({ errno: 1213 });
    expect(await running).toMatchObject({ name: "StoreError", kind: "transient", reason: "deadlock" });
    expect([session.alive, session.fit, session.sent, session.answered]).toEqual([true, true, 1, 0]);
    expect(seen).toEqual(["trip true"]);
  });

  test("that only a bug can have sent fails as a bug", async () => {
    const running = outcome(session.run(tripOf("SELEKT")));
    connection.fail({ errno: 1064, sqlState: "42000" });
    const error = await running;
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(StoreError);
  });

  test("after which the connection is of no use loses it, for whoever comes next as well", async () => {
    const running = outcome(session.run(tripOf("SELECT 1")));
    connection.fail({ errno: 1927 });
    expect(await running).toMatchObject({ reason: "connection_lost" });
    expect(session.alive).toBe(false);
    expect(await outcome(session.run(tripOf("SELECT 2")))).toMatchObject({ reason: "connection_lost" });
    expect(connection.sent).toHaveLength(1);
  });
});

describe("COMMIT", () => {
  test("that is cut off leaves open whether it was done, and so does all that follows in the same lease", async () => {
    session.begin(1_000);
    const running = outcome(session.run(committing()));
    socket.emit("close");
    expect(await running).toMatchObject({ kind: "unknown_outcome", reason: "connection_lost" });
    expect(await outcome(session.run(tripOf("SELECT 1")))).toMatchObject({ kind: "unknown_outcome" });
  });

  test("of an earlier lease leaves nothing open", async () => {
    session.begin(1_000);
    const running = session.run(committing());
    connection.answer([{}, {}]);
    await running;
    session.finish();
    session.begin(1_000);
    const next = outcome(session.run(tripOf("SELECT 1")));
    socket.emit("close");
    expect(await next).toMatchObject({ kind: "transient", reason: "connection_lost" });
  });
});

describe("a lease", () => {
  test("ends its connection at the deadline, and what runs fails of that", async () => {
    session.begin(1_000);
    expect(session.isLent).toBe(true);
    const running = outcome(session.run(tripOf("SELECT 1")));
    vi.advanceTimersByTime(999);
    expect(session.alive).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await running).toMatchObject({ kind: "unavailable", reason: "timeout" });
    expect(seen).toEqual(expect.arrayContaining(["socket destroyed", "destroyed"]));
    // A later answer belongs to no caller.
    connection.answer([]);
    expect(session.answered).toBe(0);
  });

  test("that is over has no deadline any more", () => {
    session.begin(1_000);
    session.finish();
    vi.advanceTimersByTime(5_000);
    expect([session.alive, session.isLent]).toEqual([true, false]);
  });

  test("begins with nothing sent, answered or said about patience", async () => {
    session.isPatient = false;
    const running = session.run(tripOf("SELECT 1"));
    connection.answer([]);
    await running;
    session.begin(1_000);
    expect([session.sent, session.answered, session.isPatient]).toEqual([0, 0, null]);
    session.finish();
  });

  test("cannot be given on with an open transaction", () => {
    session.inTransaction = true;
    expect([session.alive, session.fit]).toEqual([true, false]);
  });
});

describe("patience", () => {
  const sqlOf = async (isPatient: boolean | null) => {
    session.isPatient = isPatient;
    const running = session.run(tripOf("SELECT 1"));
    connection.answer(connection.sent.at(-1)?.sql.startsWith("SET") ? [{}, ["row"]] : ["row"]);
    expect(await running).toEqual([["row"]]);
    return connection.sent.at(-1)?.sql;
  };

  test("is told to the server before a trip, where it has changed", async () => {
    session.setsPatience = true;
    expect(await sqlOf(null)).toBe("SELECT 1");
    expect(await sqlOf(true)).toBe("SELECT 1");
    expect(await sqlOf(false)).toBe("SET SESSION innodb_lock_wait_timeout = 0;\nSELECT 1");
    expect(await sqlOf(false)).toBe("SELECT 1");
    expect(await sqlOf(null)).toBe("SELECT 1");
    expect(await sqlOf(true)).toBe(`SET SESSION innodb_lock_wait_timeout = ${LOCK_WAIT_S};\nSELECT 1`);
  });

  test("is told to no server that cannot be told", async () => {
    expect(await sqlOf(false)).toBe("SELECT 1");
  });
});

describe("a connection that is lost", () => {
  test("while it is idle is told once", () => {
    const lost = vi.fn();
    session.onLost = lost;
    socket.emit("close");
    connection.emit("error", new Error("again"));
    expect(lost).toHaveBeenCalledOnce();
    expect([session.alive, session.fit]).toEqual([false, false]);
  });

  test("by an error of the driver fails what runs", async () => {
    const running = outcome(session.run(tripOf("SELECT 1")));
    connection.emit("error", Object.assign(new Error("x"), GONE));
    expect(await running).toMatchObject({ reason: "connection_lost" });
  });

  test("is closed once, however often it is destroyed", () => {
    session.destroy(new Error("a"));
    session.destroy(new Error("b"));
    expect(connection.destroyed).toBe(1);
    expect(seen).toEqual(["socket destroyed", "destroyed"]);
  });
});

describe("a goodbye", () => {
  test("is waited for, and nobody is told of a loss", async () => {
    const lost = vi.fn();
    session.onLost = lost;
    const ending = session.end();
    expect(connection.destroyed).toBe(0);
    connection.onEnd?.();
    await ending;
    expect(seen).toEqual(["socket destroyed", "closed"]);
    expect(session.alive).toBe(false);
    expect(lost).not.toHaveBeenCalled();
    await session.end();
    expect(seen).toHaveLength(2);
  });

  test("that the server does not answer takes its time and no longer", async () => {
    const ending = session.end();
    await vi.advanceTimersByTimeAsync(GOODBYE_MS_MAX - 1);
    expect(connection.destroyed).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(connection.destroyed).toBe(1);
  });
});

describe("a lease can be repeated on another connection", () => {
  const lost = (kind: StoreError["kind"] = "transient", reason = "connection_lost") =>
    new StoreError(kind, reason, "Lost.");

  test("where the server had closed the connection before it did anything for it", () => {
    session.kept = true;
    expect(wasGone(session, lost())).toBe(true);
  });

  test("and not after an answer, on a new connection, or where something else has failed", () => {
    session.kept = true;
    for (const error of [lost("unknown_outcome"), lost("transient", "deadlock"), new Error("a bug")])
      expect(wasGone(session, error)).toBe(false);
    session.answered = 1;
    expect(wasGone(session, lost())).toBe(false);
    session.answered = 0;
    session.kept = false;
    expect(wasGone(session, lost())).toBe(false);
  });
});
