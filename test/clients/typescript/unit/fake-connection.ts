// Calls over a fake connection: it records what it is asked, and answers when a test says so.

import { onTestFinished } from "vitest";
import { Clock } from "../../../../clients/typescript/src/clock.ts";
import { Calls } from "../../../../clients/typescript/src/connection/calls.ts";
import type {
  Command,
  Connection,
  Opened,
  Result,
} from "../../../../clients/typescript/src/connection/connection.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";

export const GONE = new RowlockError("UNKNOWN", "UNAVAILABLE", "gone");

/** Lets everything happen that follows from the steps so far. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

export class FakeConnection implements Connection {
  readonly address = "nowhere";
  readonly asked: { readonly call: bigint; readonly command: Command }[] = [];
  readonly cancelled: bigint[] = [];
  via: Connection["via"] = "session";
  opened: Opened | undefined = { replica: "1", waitsMax: 9, commandsMax: 9 };
  wasReached = true;
  renewalsMax = 9;

  send(call: bigint, command: Command): boolean {
    if (!this.opened) return false;
    this.asked.push({ call, command });
    return true;
  }

  cancel(call: bigint): void {
    this.cancelled.push(call);
  }

  async close(): Promise<void> {}
  destroy(): void {}
}

/** The connection is lost. */
export function lose(calls: Calls, connection: Connection): void {
  calls.leaving(connection, GONE);
  calls.ended(connection, GONE);
}

/** It is lost, and another one follows. */
export function moveOn(calls: Calls, lost: Connection, next = new FakeConnection()): FakeConnection {
  lose(calls, lost);
  calls.begun(next);
  return next;
}

/** The calls of a client, and the connection that carries them. */
export function stageCalls() {
  const clock = new Clock(() => performance.now());
  const calls = new Calls({ need() {}, lastError: () => undefined, addresses: ["nowhere"], clock });
  onTestFinished(() => calls.failAll(RowlockError.closed()));
  const connection = new FakeConnection();
  calls.begun(connection);
  /** The latest call. */
  const latest = () => {
    const asked = connection.asked.at(-1);
    if (!asked) throw new Error("nothing was asked");
    return asked;
  };
  /** Answers the latest call, or the given one. */
  const answer = (result: object, { call = latest().call, basisMs = clock.now() } = {}) =>
    calls.results([{ call, result: result as Result | RowlockError }], basisMs);
  return { clock, calls, connection, asked: connection.asked, latest, answer };
}
