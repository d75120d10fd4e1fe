// The frame around each call outside sessions, whatever carries it: finds out who calls, counts it among the open calls of
// its connection, begins it, and reports how it ended. Nothing here waits unless the caller's identity or the name of the
// lock must be looked up.

import type { Message } from "@bufbuild/protobuf";
import { type ServerUnaryCall, status } from "@grpc/grpc-js";
import { type Gate, type Identity, NOBODY, OPEN_GATE } from "../access/access.ts";
import type { Usage } from "../access/usage.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import type { TraceParent } from "../core/span.ts";
import { ClientGone } from "../engine/faults.ts";
import { type Admission, admissionOf, type SharedAdmission } from "./admission.ts";
import type { Answer, Client, MethodContext } from "./call.ts";
import type { Frame, Via } from "./call-observer.ts";
import { DEADLINE_SLACK_MS } from "./grpc-bounds.ts";
import { tooMuchUnderWay } from "./messages/call-error.ts";
import { type Failure, failureOf } from "./messages/status.ts";
import { OpenCall } from "./open-call.ts";
import type { OpenWaits } from "./open-waits.ts";
import type { Callers } from "./standing.ts";
import type { AnyVerb } from "./verbs.ts";

const BOUND = "calls_on_connection";

export interface Connection extends Client {
  readonly admission: Pick<Admission, "enter" | "retryAfterIfLate">;
  readonly key: string;
  calls: number;
}

export class ConnectionCalls {
  readonly #callsMax: number;
  readonly #admission: SharedAdmission;
  readonly #waits: Pick<OpenWaits, "enter">;
  readonly #usage: Usage;
  /** By the client's address and port, and by its principal: a proxy's connection carries the calls of many. */
  readonly #open = new Map<string, Connection>();

  constructor(callsMax: number, admission: SharedAdmission, waits: Pick<OpenWaits, "enter">, usage: Usage) {
    this.#callsMax = callsMax;
    this.#admission = admission;
    this.#waits = waits;
    this.#usage = usage;
  }

  get bound(): BoundUse {
    const calls = this.#open.values().map((connection) => connection.calls);
    return mostUsed(BOUND, calls, this.#callsMax);
  }

  retryAfterIfLate(peer: string): number | undefined {
    return this.#open.get(peer)?.admission.retryAfterIfLate();
  }

  get connections(): number {
    return this.#open.size;
  }

  /** Counts a call, which must leave. Throws OVERLOADED if the connection already has `callsMax` open calls. */
  enter(peer: string, identity: Identity): Connection {
    const { principal } = identity;
    const key = principal === "" ? peer : `${peer} ${principal}`;
    let connection = this.#open.get(key);
    if (!connection) {
      const admission = admissionOf(this.#admission, BOUND, principal);
      const renewals = this.#admission.renewals.of(principal || peer);
      const shared = { waits: this.#waits, usage: this.#usage };
      connection = { ...shared, key, identity, admission, renewals, calls: 0 };
      this.#open.set(key, connection);
    }
    if (connection.calls >= this.#callsMax) throw tooMuchUnderWay(BOUND);
    connection.calls += 1;
    return connection;
  }

  leave(connection: Connection): void {
    connection.calls -= 1;
    if (connection.calls === 0) this.#open.delete(connection.key);
  }
}

export interface Asking {
  readonly gate: Gate;
  /** Who hears how that turned out. */
  readonly callers?: Callers;
}

export interface Shared extends Frame, Asking {
  readonly methods: MethodContext;
}

export interface Served extends Shared {
  readonly connections: ConnectionCalls;
}

/** A call as what carries it sees it: grpc-js, whose words these are, or the page. */
export interface CarriedCall {
  readonly cancelled: boolean;
  /** Date.now() when the client gives it up. */
  getDeadline(): Date | number;
  getPeer(): string;
  once(event: "cancelled", listener: () => void): unknown;
}

/** What carries a call. `identify` to `send` may throw what the call then fails with. */
export interface Carrier<Result> {
  readonly call: CarriedCall;
  readonly via: Via;
  parent(): TraceParent;
  identify(): Identity | Promise<Identity>;
  decode(): Message;
  encode(answer?: Answer | Buffer): Result;
  send?(message: Answer, written?: () => void): void;
  /** The call is over: sends its answer, or the failure. Must not throw. */
  end(ended: Ended<Result>): void;
}

export type Ended<Result> =
  | { readonly failure: null; readonly result: Result }
  | { readonly failure: Failure };

/** Performs a call that has arrived: whatever is thrown on its way becomes its failure. */
export function perform<Result>(served: Served, verb: AnyVerb, carrier: Carrier<Result>): void {
  new FramedCall(served, verb, carrier).identify();
}

class FramedCall<Result> extends OpenCall {
  readonly #served: Served;
  readonly #verb: AnyVerb;
  readonly #carrier: Carrier<Result>;
  #connection: Connection | undefined;
  #isOver = false;

  constructor(served: Served, verb: AnyVerb, carrier: Carrier<Result>) {
    super(served, verb, carrier.via, () => carrier.parent());
    this.#served = served;
    this.#verb = verb;
    this.#carrier = carrier;
  }

  /** Its method is only asked once it is known who calls. */
  get client(): Connection {
    return this.#connection as Connection;
  }

  getPeer(): string {
    return this.#carrier.call.getPeer();
  }

  identify(): void {
    this.#orFail(() => {
      const found = this.#carrier.identify();
      if (!(found instanceof Promise)) return this.#open(found);
      found.then(
        (identity) => this.#orFail(() => this.#open(identity)),
        (error: unknown) => this.fail(error),
      );
    });
  }

  #open(identity: Identity): void {
    const { connections, methods } = this.#served;
    const { call } = this.#carrier;
    this.#connection = connections.enter(call.getPeer(), identity);
    if (call.cancelled) this.#gone();
    else call.once("cancelled", this.#gone);
    this.begin(this.#verb, this.#carrier.decode(), methods);
  }

  answer(message?: Answer | Buffer): void {
    if (this.#isOver) return;
    this.#orFail(() => {
      const result = this.#carrier.encode(message);
      this.#end(status.OK, { failure: null, result });
    });
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    const failure = failureOf(error);
    const { faultLog } = this.#served;
    if (!(error instanceof ClientGone))
      faultLog.failed(this.method, failure, error, this.span, this.getPeer());
    this.#end(failure.status.code, { failure });
  }

  send(message: Answer, written?: () => void): void {
    this.#carrier.send?.(message, written);
  }

  /** A call that its client gave up counts as CANCELLED or DEADLINE_EXCEEDED, whatever the server answered. */
  #end(code: status, ended: Ended<Result>): void {
    const { call } = this.#carrier;
    this.observe(call.cancelled ? codeOfGone(call) : code, ended.failure?.reason);
    this.#isOver = true;
    if (this.#connection) this.#served.connections.leave(this.#connection);
    this.#carrier.end(ended);
  }

  /** grpc-js reports every call as cancelled when its stream closes, even after its answer. */
  readonly #gone = (): void => {
    if (!this.#isOver) this.cancel(new ClientGone());
  };

  #orFail(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.fail(error);
    }
  }
}

/** The client's deadline passes before the server's, by the time that the call took to arrive. */
function codeOfGone(call: CarriedCall): status {
  const hasPassed = Number(call.getDeadline()) <= Date.now() + DEADLINE_SLACK_MS;
  return hasPassed ? status.DEADLINE_EXCEEDED : status.CANCELLED;
}

/** Who makes the call by its own credentials. Throws, or rejects with, an AccessError. */
export function identified(
  { gate, callers }: Asking,
  call: Pick<ServerUnaryCall<Buffer, Buffer>, "metadata" | "getAuthContext" | "getPeer">,
): Identity | Promise<Identity> {
  if (gate === OPEN_GATE) return NOBODY;
  const peer = call.getPeer();
  const failed = (error: unknown) => {
    callers?.failed(peer);
    throw error;
  };
  const known = (identity: Identity) => {
    callers?.known(peer);
    return identity;
  };
  try {
    const found = gate.identify({
      authorization: call.metadata.get("authorization").map(String),
      certificate: () => call.getAuthContext()?.sslPeerCertificate?.raw ?? null,
    });
    return found instanceof Promise ? found.then(known, failed) : known(found);
  } catch (error) {
    return failed(error);
  }
}
