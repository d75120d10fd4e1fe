// What a method of the contract gets with its request: the context that all methods share, and its call. The call comes
// by itself (OwnCall) or as a command of a session (session-call.ts).

import type { DescMessage, MessageInitShape } from "@bufbuild/protobuf";
import type { Identity } from "../access/access.ts";
import type { AccessError } from "../access/access-error.ts";
import type { Usage } from "../access/usage.ts";
import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import type { Claim, ClaimRef } from "../core/claim.ts";
import type { Caller } from "../core/command.ts";
import type { CallSpan } from "../core/span.ts";
import type { LockEngine } from "../engine/engine.ts";
import { ClientGone } from "../engine/faults.ts";
import { type Admission, admissionOf, type SharedAdmission } from "./admission.ts";
import { Cancellation } from "./cancellation.ts";
import { tooMuchUnderWay } from "./messages/call-error.ts";
import type { PlaceTurns } from "./methods/place-updates.ts";
import type { OpenWaits } from "./open-waits.ts";
import type { RenewalBound } from "./renewal-bounds.ts";

export interface MethodContext {
  readonly engine: LockEngine;
  /** Makes streams take turns in sending places. */
  readonly turns: PlaceTurns;
  /** How long a place is kept without a sign of life. */
  readonly graceUs: number;
}

/** Whose call it is: a session, or a connection with its calls outside sessions. */
export interface Client {
  readonly identity: Identity;
  readonly usage: Usage;
  /** Admits the client's commands to the engine. */
  readonly admission: Pick<Admission, "enter">;
  readonly waits: Pick<OpenWaits, "enter">;
  /** Bounds its renewals and releases. */
  readonly renewals: RenewalBound;
}

/** An answer, or a message of a stream. */
export type Answer = MessageInitShape<DescMessage>;

/** How a call ends. None of these throws; what comes after the end counts for nothing. */
export interface Reply<Message = Answer> {
  /** The call has its answer: a message, or its bytes. A stream ends without one. */
  answer(message?: Message | Buffer): void;
  fail(error: unknown): void;
  /** Of a stream: sends one message. May throw if it cannot be encoded. */
  send(message: Message, written?: () => void): void;
}

export interface Call<Message = Answer> extends Caller, Reply<Message> {
  readonly client: Client;
  /** Whether its verb is urgent: see `admission.ts`. */
  readonly isUrgent: boolean;
  readonly signal: AbortSignal;
  /** Whether the signal is aborted, without making it. */
  readonly isCancelled: boolean;
  /** In a session: how a lease has ended that the call was given or has kept, and that no answer has reported yet. */
  endOf?(lease: ClaimRef): Claim | undefined;
  /** In a session: the call's answer reports that the lease has ended; `how`: the ended claim, if known. */
  reportsEnd?(lease: ClaimRef, how?: Claim): void;
  /** In a session: a part of the call was denied, and the others may not be. */
  denied?(why: AccessError): void;
}

/** Sends one message, and calls `written` when the connection has taken it. */
export type Send<Message> = (message: Message, written?: () => void) => void;

const BOUND = "calls_on_connection";

/** A call as what carries it sees it: grpc-js, whose words these are, or the page. */
export interface CarriedCall {
  readonly cancelled: boolean;
  /** Date.now() when the client gives it up. */
  getDeadline(): Date | number;
  getPeer(): string;
  once(event: "cancelled", listener: () => void): unknown;
}

interface Connection extends Client {
  readonly admission: Pick<Admission, "enter" | "retryAfterIfLate">;
  readonly key: string;
  readonly peer: string;
  calls: number;
}

/**
 * The open calls of each connection outside its sessions, from arrival until their work is over, even if cancelled. The
 * calls of a connection share as much of the engine as a session gets. Keeps nothing about connections without open
 * calls.
 */
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

  /** As in Admission, for the connection; undefined for one whose calls bring credentials. */
  retryAfterIfLate(peer: string): number | undefined {
    return this.#open.get(peer)?.admission.retryAfterIfLate();
  }

  /** Connections with open calls. */
  get connections(): number {
    return this.#open.size;
  }

  /** Opens a call, which must be closed. Throws OVERLOADED if the connection already has `callsMax` open calls. */
  open(
    carried: Pick<CarriedCall, "cancelled" | "getPeer" | "once">,
    verb: { readonly admission: string },
    identity: Identity,
    reply: Reply,
    span?: CallSpan,
  ): OwnCall {
    const peer = carried.getPeer();
    const { principal } = identity;
    const key = principal === "" ? peer : `${peer} ${principal}`;
    const connection = this.#open.get(key) ?? this.#opened(key, peer, identity);
    if (connection.calls >= this.#callsMax) throw tooMuchUnderWay(BOUND);
    connection.calls += 1;
    return new OwnCall(carried, verb.admission === "urgent", connection, reply, this.#left, span);
  }

  #opened(key: string, peer: string, identity: Identity): Connection {
    const admission = admissionOf(this.#admission, BOUND, identity.principal);
    const renewals = this.#admission.renewals.of(identity.principal || peer);
    const own = { waits: this.#waits, usage: this.#usage, renewals, calls: 0 };
    const connection = { key, peer, identity, admission, ...own };
    this.#open.set(key, connection);
    return connection;
  }

  readonly #left = (connection: Connection): void => {
    connection.calls -= 1;
    if (connection.calls === 0) this.#open.delete(connection.key);
  };
}

/** A call outside sessions. */
export class OwnCall implements Call {
  readonly client: Connection;
  readonly isUrgent: boolean;
  readonly span: CallSpan | undefined;
  readonly #reply: Reply;
  readonly #closed: (connection: Connection) => void;
  readonly #cancellation = new Cancellation();
  #isOver = false;

  constructor(
    carried: Pick<CarriedCall, "cancelled" | "getPeer" | "once">,
    isUrgent: boolean,
    client: Connection,
    reply: Reply,
    closed: (connection: Connection) => void,
    span?: CallSpan,
  ) {
    this.span = span;
    this.client = client;
    this.isUrgent = isUrgent;
    this.#reply = reply;
    this.#closed = closed;
    if (carried.cancelled) this.#gone();
    else carried.once("cancelled", this.#gone);
  }

  answer(message?: Answer | Buffer): void {
    this.#reply.answer(message);
  }

  fail(error: unknown): void {
    this.#reply.fail(error);
  }

  send(message: Answer, written?: () => void): void {
    this.#reply.send(message, written);
  }

  get signal(): AbortSignal {
    return this.#cancellation.signal;
  }

  get isCancelled(): boolean {
    return this.#cancellation.isCancelled;
  }

  get principal(): string {
    return this.client.identity.principal;
  }

  mayMakeName(): boolean {
    const { usage, identity } = this.client;
    return usage.mayMakeName(identity);
  }

  roomForLeases(leases: number): (() => void) | null | undefined {
    const { usage, identity } = this.client;
    return usage.roomForLeases(identity, leases);
  }

  getPeer(): string {
    return this.client.peer;
  }

  /** Its work is over. */
  close(): void {
    this.#isOver = true;
    this.#closed(this.client);
  }

  /** grpc-js reports every call as cancelled when its stream closes, even after its answer. */
  readonly #gone = (): void => {
    if (!this.#isOver) this.#cancellation.cancel(new ClientGone());
  };
}
