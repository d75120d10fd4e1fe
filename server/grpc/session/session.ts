// One session: takes requests, runs their commands as calls outside sessions are run, and sends the results. Ends with
// its client, after silence, if the client breaks the rules of the session itself, or when the server stops. Places and
// leases outlive it.

import { create } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { type ServerDuplexStream, status } from "@grpc/grpc-js";
import { LeaseTermsSchema } from "#proto/rowlock/v1/lock_pb.js";
import * as service from "#proto/rowlock/v1/lock_service_pb.js";
import type { Identity } from "../../access/access.ts";
import type { Usage } from "../../access/usage.ts";
import { TEXT_BYTES_MAX } from "../../core/bounds.ts";
import { ClientGone } from "../../engine/faults.ts";
import { admissionOf, admitted, type SharedAdmission } from "../admission.ts";
import { shownEnd } from "../authorize.ts";
import type { Answer } from "../call.ts";
import type { Shared } from "../call-frame.ts";
import { toComeBack } from "../early-refusal.ts";
import * as bounds from "../grpc-bounds.ts";
import * as errors from "../messages/call-error.ts";
import { decode, durationMessage } from "../messages/messages.ts";
import { failureOf, packedStatus } from "../messages/status.ts";
import { Check, WAIT } from "../methods/fields.ts";
import type { OpenWaits } from "../open-waits.ts";
import { inOrder, isRefusable, ROWS, resultField } from "../verbs.ts";
import { Outbox } from "./outbox.ts";
import { SessionCall, type SessionClient } from "./session-call.ts";
import { SessionLeases } from "./session-leases.ts";

export interface SessionContext extends Shared {
  readonly admission: SharedAdmission;
  readonly openWaits: OpenWaits;
  readonly usage: Usage;
  readonly replica: string;
  readonly waitsMax: number;
  readonly commandsMax: number;
  readonly messageBytesMax: number;
}

type Stream = ServerDuplexStream<Buffer, Buffer>;

const LOOKS = 4;
const ERROR = service.SessionResultSchema.field.error.number;
const REJECTED = service.SessionResultSchema.field.rejected.number;
const rejection = (number: bigint) => packedStatus(failureOf(errors.callNumberTaken(number)).status);
/** Made once: one request can hold tens of thousands of commands without a number. */
const UNNUMBERED = rejection(0n);

/**
 * `open`; `finishing`: the client sends no more; `going_away`: the client is to go to another server, and new commands
 * are refused. Both end when no call is open. `over`: it has ended.
 */
type State = "open" | "finishing" | "going_away" | "over";

export class Session {
  readonly #context: SessionContext;
  readonly #stream: Stream;
  readonly #outbox: Outbox;
  readonly #leases: SessionLeases;
  readonly #client: SessionClient;
  readonly #waits: ReturnType<OpenWaits["ofSession"]>;
  readonly #admission: ReturnType<typeof admissionOf>;
  readonly #calls = new Map<bigint, SessionCall>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #silenceMs: number;
  readonly #silenceTimer: NodeJS.Timeout;
  #state: State = "open";
  /** Those of commands that bring none: what the first request has set. Nobody changes them. */
  #terms = create(LeaseTermsSchema);
  #hasLabels = false;
  #commandsUnderWay = 0;
  #heard = 0;
  /** Liveness checks since the last request, or the first one. */
  #silentLooks = 1;
  /** Commands that may still begin in this tick of the event loop. */
  #leftOfTick = bounds.COMMANDS_PER_TICK_MAX;
  #isTickCounted = false;
  #next: readonly service.SessionCommand[] = [];

  constructor(context: SessionContext, stream: Stream, identity: Identity) {
    const { methods, admission: sharedAdmission, usage, observer, faultLog } = context;
    const graceMs = methods.graceUs / 1_000;
    const { engine } = methods;
    const admission = admissionOf(sharedAdmission, "session_commands", identity.principal);
    const waits = context.openWaits.ofSession(context.waitsMax);
    this.#context = context;
    this.#stream = stream;
    this.#waits = waits;
    this.#admission = admission;
    this.#outbox = new Outbox({
      unreadMax: bounds.SESSION_UNREAD_BYTES_MAX,
      heard: () => this.#heard,
      write: (message, written) => this.#write(message, written),
      onSent: (results, bytes) => observer.sessionMessage("sent", results, bytes),
      onUnread: () => this.#end(errors.unreadResults()),
    });
    this.#leases = new SessionLeases({
      engine,
      confirm: (ref) => admitted(admission, { isUrgent: true }, () => engine.confirm(ref)),
      confirmAfterMs: graceMs * bounds.CONFIRM_PER_GRACE,
      say: (part) => this.#outbox.add(part),
      shown: (ended, lockName) => shownEnd({ client: this.#client }, ended, lockName),
      onBug: (error) => faultLog.failed("Session", failureOf(error), error),
    });
    this.#client = {
      ...{ identity, usage, admission, waits, leases: this.#leases },
      peer: stream.getPeer(),
      frame: context,
      renewals: sharedAdmission.renewals.of(identity.principal || this),
      answered: (call, message) => this.#answered(call, message),
      failed: (call, error) => this.#failed(call, error),
      send: (call, message, written) => this.#send(call, message, written),
      denied: ({ method, span }, why) => faultLog.failed(method, failureOf(why), why, span, stream.getPeer()),
    };
    this.#silenceMs = graceMs * bounds.SILENCE_PER_GRACE;
    this.#silenceTimer = setInterval(() => this.#listen(), this.#silenceMs / LOOKS);
  }

  get identity(): Identity {
    return this.#client.identity;
  }

  get used(): { readonly waits: number; readonly commands: number; readonly unread: number } {
    return { waits: this.#waits.count, commands: this.#commandsUnderWay, unread: this.#outbox.unread };
  }

  end(why: Error): void {
    this.#end(why);
  }

  /** Resolves when the session has ended in good order; rejects with whatever else has ended it. */
  run(): Promise<void> {
    const stream = this.#stream;
    stream.on("data", (bytes: Buffer) => {
      try {
        this.#take(bytes);
      } catch (error) {
        this.#end(error);
      }
    });
    stream.on("end", () => {
      // A stream that the client has cancelled ends in this way, too, and its "cancelled" follows only afterwards.
      setImmediate(() => {
        if (this.#state === "open") this.#state = "finishing";
        this.#endIfDone();
      });
    });
    stream.on("cancelled", () => this.#end(new ClientGone()));
    if (stream.cancelled) this.#end(new ClientGone());
    return this.#ended.promise;
  }

  get peer(): string {
    return this.#client.peer;
  }

  /** Sends the client to another server. OpenWaits ends its waits; its other commands are finished. */
  drain(): void {
    if (this.#state === "over") return;
    this.#state = "going_away";
    this.#outbox.add({ goingAway: true });
    // OpenWaits ends the waits in this tick.
    setImmediate(() => this.#endIfDone());
  }

  /** The same while the server goes on: waits end with the error, and clients come back to their places elsewhere. */
  sendElsewhere(why: Error): void {
    if (this.#state === "going_away") return;
    this.drain();
    for (const call of [...this.#calls.values()]) if (call.isWait) this.#fail(call, why);
  }

  #take(bytes: Buffer): void {
    if (this.#state === "over") return;
    this.#heard += 1;
    this.#silentLooks = 0;
    const request = decode(service.SessionRequestSchema, bytes);
    const open = checkOpen(request.open, this.#heard === 1);
    if (open) this.#open(open.owner, open.labels);
    this.#context.observer.sessionMessage("received", request.commands.length, bytes.length);
    this.#leases.acknowledged(request.received);
    this.#next = inOrder(request.commands);
    this.#beginSome();
    // Results also tell the client that its request was heard. This comes last, so that a free lane decides in the next tick
    // before the outbox sends.
    if (this.#commandsUnderWay === 0) this.#outbox.touch();
  }

  /**
   * Begins as many commands as this tick may. The others, and the next request, come in later ticks, so that other
   * clients are read before them: one request can hold tens of thousands of commands.
   */
  #beginSome(): void {
    const commands = this.#next.slice(0, this.#leftOfTick);
    if (commands.length === 0) return;
    this.#next = this.#next.slice(commands.length);
    this.#leftOfTick -= commands.length;
    if (!this.#isTickCounted) setImmediate(this.#beginTick);
    this.#isTickCounted = true;
    for (const command of commands) this.#begin(command);
    if (this.#leftOfTick === 0) this.#stream.pause();
  }

  readonly #beginTick = (): void => {
    const wasFull = this.#leftOfTick === 0;
    this.#isTickCounted = false;
    if (this.#state === "over") return;
    this.#leftOfTick = this.#context.admission.commandsInTick(this, this.identity.principal, wasFull);
    this.#beginSome();
    if (wasFull && this.#leftOfTick > 0) this.#stream.resume();
  };

  #open(owner: string, labels: Record<string, string>): void {
    const { replica, waitsMax, commandsMax, messageBytesMax, methods } = this.#context;
    this.#terms = create(LeaseTermsSchema, { owner, labels });
    this.#hasLabels = Object.keys(labels).length > 0;
    this.#outbox.add({
      opened: {
        $typeName: "rowlock.v1.SessionOpened",
        ...{ replica, waitsMax, commandsMax, messageBytesMax },
        heartbeatInterval: durationMessage(methods.graceUs * bounds.HEARTBEAT_PER_GRACE),
        silenceMax: durationMessage(this.#silenceMs * 1_000),
        gracePeriod: durationMessage(methods.graceUs),
      },
    });
  }

  #begin(command: service.SessionCommand): void {
    const { call: number, command: asked } = command;
    if (asked.case === "cancel") {
      const call = this.#calls.get(asked.value);
      if (call) this.#fail(call, errors.cancelled(), true);
      return;
    }
    if (number === 0n || this.#calls.has(number)) {
      this.#outbox.addResult(number, REJECTED, number === 0n ? UNNUMBERED : rejection(number));
      return;
    }
    const verb = asked.case && ROWS[asked.case];
    const retryAfterMs = verb && isRefusable(verb) ? this.#admission.retryAfterIfLate() : undefined;
    if (verb && retryAfterMs !== undefined) {
      const bound = this.identity.principal === "" ? "session_commands" : "principal_commands";
      const refusal = toComeBack(bound, retryAfterMs);
      this.#outbox.addResult(number, ERROR, refusal.packed);
      refusal.note(this.#context, verb.of.name, "session");
      return;
    }
    const isWait = asked.case ? (verb?.isWait(asked.value) ?? false) : false;
    const call = new SessionCall(number, verb, isWait, this.#client, command);
    this.#calls.set(number, call);
    if (!call.isWait) this.#commandsUnderWay += 1;
    try {
      if (!asked.case || !verb) throw errors.noCommand();
      if (this.#state === "going_away") throw errors.shuttingDown();
      if (this.#commandsUnderWay > this.#context.commandsMax)
        throw errors.tooManyCommands(this.#context.commandsMax);
      const timeoutMs = checkTimeout(command.timeout);
      if (timeoutMs !== undefined) call.limitTo(timeoutMs, () => this.#fail(call, errors.timedOut()));
      this.#complete(asked);
      call.begin(verb, asked.value, this.#context.methods, () => {
        if (asked.case === "release") call.givenBack = this.#leases.givesBack(asked.value.leaseId);
      });
    } catch (error) {
      call.fail(error);
    }
  }

  /** Only now is there room for another command, even if the client cancelled this one long ago. */
  #workIsOver(call: SessionCall): void {
    if (!call.isWait) this.#commandsUnderWay -= 1;
    call.workIsOver();
  }

  /** Fills in the owner and the labels that the session's first request set for all of its commands. */
  #complete(asked: service.SessionCommand["command"]): void {
    const target = asked.case === "waitInQueue" ? asked.value.target : asked;
    if (target.case !== "acquire" && target.case !== "capture" && target.case !== "request") return;
    const { terms } = target.value;
    if (!terms) target.value.terms = this.#terms;
    else {
      if (terms.owner === "") terms.owner = this.#terms.owner;
      if (this.#hasLabels) terms.labels = { ...this.#terms.labels, ...terms.labels };
    }
  }

  /** The method is over, and has no error. A stream has sent everything by then. */
  #answered(call: SessionCall, message: Answer | Buffer | undefined): void {
    if (call.givenBack) this.#leases.gaveBack(call.givenBack, true);
    if (message !== undefined) this.#send(call, message);
    this.#workIsOver(call);
    if (this.#isOpen(call)) this.#close(call, status.OK);
  }

  #failed(call: SessionCall, error: unknown): void {
    if (call.givenBack) this.#leases.gaveBack(call.givenBack, false);
    this.#workIsOver(call);
    this.#fail(call, error);
  }

  #send(call: SessionCall, message: Answer | Buffer, written?: () => void): void {
    const { verb } = call;
    if (!verb || !this.#isOpen(call)) return;
    for (const lease of verb.leases(message)) this.#leases.reported(lease, this.#outbox.next);
    this.#outbox.addAnswer(call.number, resultField(verb), verb.of.output, message, written);
  }

  /** Ends a call with an error; does nothing if it has ended already. `isGivenUp`: the client has cancelled it. */
  #fail(call: SessionCall, error: unknown, isGivenUp = false): void {
    if (!this.#isOpen(call)) return;
    const failure = failureOf(error);
    this.#context.faultLog.failed(call.method, failure, error, call.span, this.peer);
    this.#outbox.addResult(call.number, ERROR, packedStatus(failure.status));
    this.#close(call, failure.status.code, isGivenUp, failure.reason);
  }

  #isOpen(call: SessionCall): boolean {
    return this.#calls.get(call.number) === call;
  }

  #close(call: SessionCall, code: status, isGivenUp = false, reason?: errors.Reason): void {
    this.#calls.delete(call.number);
    call.observe(code, reason);
    this.#endIfDone();
    call.close(isGivenUp);
  }

  #endIfDone(): void {
    if (this.#calls.size > 0) return;
    if (this.#state === "going_away") this.#outbox.close(() => this.#end(errors.shuttingDown()));
    else if (this.#state === "finishing") this.#outbox.close(() => this.#end(null));
  }

  /** Counts checks instead of time: while this server itself is held up, it hears nobody. */
  #listen(): void {
    this.#leases.forgetEnded();
    // A command may take long: the client must not take the server for gone.
    if (this.#outbox.answered < this.#heard) this.#outbox.touch();
    // The first check may come just after the last request, so it counts for nothing.
    this.#silentLooks += 1;
    if (this.#silentLooks > LOOKS) this.#end(errors.sessionSilent(this.#silenceMs));
  }

  #end(error: unknown): void {
    if (this.#state === "over") return;
    this.#state = "over";
    clearInterval(this.#silenceTimer);
    this.#context.admission.left(this, this.identity.principal);
    this.#leases.close();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) {
      call.observe(status.CANCELLED);
      call.close();
    }
    if (error === null) this.#ended.resolve();
    else this.#ended.reject(error);
  }

  #write(message: Buffer, written: () => void): void {
    if (this.#stream.cancelled || this.#state === "over") return;
    this.#stream.write(message, (error: Error | null | undefined) => {
      // An error means that the stream is gone; the session's own cancellation reports that.
      if (!error) written();
    });
  }
}

/** The first request must have `open`, and later ones must not. */
export function checkOpen(
  open: service.SessionOpen | undefined,
  isFirst: boolean,
): service.SessionOpen | undefined {
  const check = new Check();
  if (isFirst && !open) check.add("open", "is required in the first request of a session");
  if (!isFirst && open) check.add("open", "may be set only in the first request of a session");
  if (open) {
    check.text(open.owner, TEXT_BYTES_MAX, "open.owner");
    check.within("open").labels(open.labels);
  }
  return check.checked(open);
}

export function checkTimeout(timeout: Duration | undefined): number | undefined {
  const check = new Check();
  const us = check.duration(timeout, WAIT, "timeout");
  return check.checked(us && us / 1_000);
}
