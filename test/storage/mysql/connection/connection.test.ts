// One connection in use: which errors its callers get, when it may be used again, and what the server is sent about
// waiting for locks. The connection is a fake, which answers when the test says so.

import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import type { Connection as DriverConnection } from "mysql2";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Connection, Trip, wasGone } from "../../../../server/storage/mysql/connection/connection.ts";
import { CLOSE_MS_MAX } from "../../../../server/storage/storage-bounds.ts";
import { StoreError } from "../../../../server/storage/store.ts";

type Answer = (error: unknown, results?: unknown) => void;

class FakeDriver extends EventEmitter {
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

let driver: FakeDriver;
let socket: EventEmitter & { destroy: () => void };
let connection: Connection;
const seen: string[] = [];
beforeEach(() => {
  vi.useFakeTimers();
  seen.length = 0;
  driver = new FakeDriver();
  socket = Object.assign(new EventEmitter(), { destroy: () => void seen.push("socket destroyed") });
  connection = new Connection(driver as unknown as DriverConnection, socket as unknown as Socket, {
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
  test("that ruins its connection loses it, for the next user as well", async () => {
    const running = outcome(connection.run(tripOf("SELECT 1")));
    driver.fail({ errno: 1927 });
    expect(await running).toMatchObject({ reason: "connection_lost" });
    expect(connection.alive).toBe(false);
    expect(await outcome(connection.run(tripOf("SELECT 2")))).toMatchObject({ reason: "connection_lost" });
    expect(driver.sent).toHaveLength(1);
  });
});

describe("COMMIT", () => {
  test("that is cut off leaves its outcome open, and so does everything after it in the same loan", async () => {
    connection.begin(1_000);
    const running = outcome(connection.run(committing()));
    socket.emit("close");
    expect(await running).toMatchObject({ kind: "unknown_outcome", reason: "connection_lost" });
    expect(await outcome(connection.run(tripOf("SELECT 1")))).toMatchObject({ kind: "unknown_outcome" });
  });

  test("of an earlier loan leaves nothing open", async () => {
    connection.begin(1_000);
    const running = connection.run(committing());
    driver.answer([{}, {}]);
    await running;
    connection.finish();
    connection.begin(1_000);
    const next = outcome(connection.run(tripOf("SELECT 1")));
    socket.emit("close");
    expect(await next).toMatchObject({ kind: "transient", reason: "connection_lost" });
  });
});

describe("a loan", () => {
  test("ends its connection at the deadline, and what runs fails with that", async () => {
    connection.begin(1_000);
    expect(connection.isLent).toBe(true);
    const running = outcome(connection.run(tripOf("SELECT 1")));
    vi.advanceTimersByTime(999);
    expect(connection.alive).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await running).toMatchObject({ kind: "unavailable", reason: "timeout" });
    expect(seen).toEqual(expect.arrayContaining(["socket destroyed", "destroyed"]));
    // A later answer belongs to no caller.
    driver.answer([]);
    expect(connection.answered).toBe(0);
  });

  test("that is over has no deadline any more", () => {
    connection.begin(1_000);
    connection.finish();
    vi.advanceTimersByTime(5_000);
    expect([connection.alive, connection.isLent]).toEqual([true, false]);
  });

  test("cannot end with an open transaction", () => {
    connection.inTransaction = true;
    expect([connection.alive, connection.fit]).toEqual([true, false]);
  });
});

describe("a connection that is lost", () => {
  test("while it is idle is reported once", () => {
    const lost = vi.fn();
    connection.onLost = lost;
    socket.emit("close");
    driver.emit("error", new Error("again"));
    expect(lost).toHaveBeenCalledOnce();
    expect([connection.alive, connection.fit]).toEqual([false, false]);
  });

  test("by an error of the driver fails what runs", async () => {
    const running = outcome(connection.run(tripOf("SELECT 1")));
    driver.emit("error", Object.assign(new Error("x"), GONE));
    expect(await running).toMatchObject({ reason: "connection_lost" });
  });

  test("is closed once, however often it is destroyed", () => {
    connection.destroy(new Error("a"));
    connection.destroy(new Error("b"));
    expect(driver.destroyed).toBe(1);
    expect(seen).toEqual(["socket destroyed", "destroyed"]);
  });
});

describe("closing a connection", () => {
  test("is waited for, and no loss is reported", async () => {
    const lost = vi.fn();
    connection.onLost = lost;
    const ending = connection.end();
    expect(driver.destroyed).toBe(0);
    driver.onEnd?.();
    await ending;
    expect(seen).toEqual(["socket destroyed", "closed"]);
    expect(connection.alive).toBe(false);
    expect(lost).not.toHaveBeenCalled();
    await connection.end();
    expect(seen).toHaveLength(2);
  });

  test("that the server does not answer takes its time and no longer", async () => {
    const ending = connection.end();
    await vi.advanceTimersByTimeAsync(CLOSE_MS_MAX - 1);
    expect(driver.destroyed).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await ending;
    expect(driver.destroyed).toBe(1);
  });
});

describe("a loan can be repeated on another connection", () => {
  const lost = (kind: StoreError["kind"] = "transient", reason = "connection_lost") =>
    new StoreError(kind, reason, "Lost.");

  test("if the server had closed the connection before it did anything for it", () => {
    connection.kept = true;
    expect(wasGone(connection, lost())).toBe(true);
  });

  test("and not after an answer, on a new connection, or if something else has failed", () => {
    connection.kept = true;
    for (const error of [lost("unknown_outcome"), lost("transient", "deadlock"), new Error("a bug")])
      expect(wasGone(connection, error)).toBe(false);
    connection.answered = 1;
    expect(wasGone(connection, lost())).toBe(false);
    connection.answered = 0;
    connection.kept = false;
    expect(wasGone(connection, lost())).toBe(false);
  });
});
