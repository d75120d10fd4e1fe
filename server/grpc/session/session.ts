// One session: takes requests, runs their commands with the functions that unary calls use, too, and sends the results.
// Ends with its client, after silence, if the client breaks the rules of the session itself, or when the server stops.
// Places and leases outlive it.

import type { ServerDuplexStream } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { ReleaseRequest, SessionCommand } from "#proto/rowlock/v1/lock_service_pb.js";
import { SessionRequestSchema, SessionResultSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { Admission, type AdmissionRoom } from "../admission.ts";
import {
  COMMANDS_PER_TURN_MAX,
  CONFIRM_PER_GRACE,
  HEARTBEAT_PER_GRACE,
  SESSION_UNREAD_BYTES_MAX,
  SILENCE_PER_GRACE,
} from "../grpc-bounds.ts";
import type { HandlerContext } from "../handler.ts";
import {
  badRequest,
  type CallError,
  ClientGone,
  cancelled,
  servedElsewhere,
  sessionBound,
  sessionSilent,
  shuttingDown,
  timedOut,
} from "../messages/call-error.ts";
import { decode, encode } from "../messages/encoding.ts";
import { failureOf, packedStatus } from "../messages/status.ts";
import { durationMessage } from "../messages/times.ts";
import type { MethodContext } from "../methods/method.ts";
import type { OpenWaits } from "../methods/open-waits.ts";
import { checkOpen, checkTimeout } from "../validate/session.ts";
import { COMMANDS, type CommandKind, inOrder, waits } from "./commands.ts";
import { leasesIn } from "./leases-in.ts";
import { Outbox } from "./outbox.ts";
import { type CallSource, SessionCall } from "./session-call.ts";
import { SessionLeases } from "./session-leases.ts";

export interface SessionContext {
  readonly methods: MethodContext;
  readonly admission: AdmissionRoom;
  readonly openWaits: OpenWaits;
  readonly frame: HandlerContext;
  /** This server's id, as clients get it. */
  readonly replica: string;
  /** At most, for one session: waits, and other commands under way. */
  readonly waitsMax: number;
  readonly commandsMax: number;
  readonly messageBytesMax: number;
}

type Stream = ServerDuplexStream<Buffer, Buffer>;
type Answer = Parameters<typeof encode>[1];

/** Liveness checks per silence timeout. */
const LOOKS = 4;
const ERROR = SessionResultSchema.field.error.number;
const REJECTED = SessionResultSchema.field.rejected.number;

export class Session {
  readonly #context: SessionContext;
  readonly #methods: MethodContext;
  readonly #stream: Stream;
  readonly #outbox: Outbox;
  readonly #leases: SessionLeases;
  readonly #source: CallSource;
  readonly #calls = new Map<bigint, SessionCall>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #silenceMs: number;
  readonly #silenceTimer: NodeJS.Timeout;
  #commandsUnderWay = 0;
  #owner = "";
  #labels: Record<string, string> = {};
  #heard = 0;
  /** Commands since the session last paused for other sessions. */
  #sincePause = 0;
  #heardAtLook = 0;
  #silentLooks = 0;
  #isHalfClosed = false;
  #isDraining = false;
  #isOver = false;

  constructor(context: SessionContext, stream: Stream) {
    const { methods, admission, openWaits, frame, waitsMax } = context;
    const graceMs = methods.graceUs / 1_000;
    const engine = new Admission(admission, "session_commands").admit(methods.engine);
    this.#context = context;
    this.#stream = stream;
    this.#methods = { ...methods, engine, openWaits: openWaits.ofSession(waitsMax) };
    this.#outbox = new Outbox({
      unreadMax: SESSION_UNREAD_BYTES_MAX,
      heard: () => this.#heard,
      write: (message, written) => this.#write(message, written),
      onSent: (results, bytes) => frame.observer.sessionMessage("sent", results, bytes),
      onUnread: () => this.#end(unread()),
    });
    this.#leases = new SessionLeases({
      engine,
      confirmAfterMs: graceMs * CONFIRM_PER_GRACE,
      say: (part) => this.#outbox.add(part),
      onBug: (error) => frame.faultLog.failed("Session", failureOf(error), error),
    });
    this.#source = { peer: stream.getPeer(), leases: this.#leases };
    this.#silenceMs = graceMs * SILENCE_PER_GRACE;
    this.#silenceTimer = setInterval(() => this.#listen(), this.#silenceMs / LOOKS);
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
      this.#letOthersIn();
    });
    stream.on("end", () => {
      // A stream that the client has cancelled ends in this way, too, and its "cancelled" follows only afterwards.
      setImmediate(() => {
        this.#isHalfClosed = true;
        this.#endIfDone();
      });
    });
    stream.on("cancelled", () => this.#end(new ClientGone()));
    if (stream.cancelled) this.#end(new ClientGone());
    return this.#ended.promise;
  }

  /** Sends the client to another server. OpenWaits ends its waits; its other commands are finished. */
  drain(): void {
    this.#isDraining = true;
    this.#outbox.add({ goingAway: true });
    // OpenWaits ends the waits in this turn.
    setImmediate(() => this.#endIfDone());
  }

  /**
   * The same while the server goes on: the session's waits end here, and clients come back to their places through
   * another server.
   */
  sendElsewhere(): void {
    if (this.#isDraining) return;
    this.drain();
    for (const call of [...this.#calls.values()]) if (call.isWait) this.#fail(call, servedElsewhere());
  }

  #take(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#heard += 1;
    const request = decode(SessionRequestSchema, bytes);
    const open = checkOpen(request.open, this.#heard === 1);
    if (open) this.#open(open.owner, open.labels);
    this.#context.frame.observer.sessionMessage("received", request.commands.length, bytes.length);
    this.#sincePause += request.commands.length;
    this.#leases.acknowledged(request.received);
    this.#outbox.touch();
    for (const command of inOrder(request.commands)) this.#begin(command);
  }

  /**
   * After COMMANDS_PER_TURN_MAX commands, reads the next request in a later turn, so that other sessions are read
   * before it.
   */
  #letOthersIn(): void {
    if (this.#sincePause < COMMANDS_PER_TURN_MAX || this.#isOver) return;
    this.#sincePause = 0;
    this.#stream.pause();
    setImmediate(() => this.#stream.resume());
  }

  #open(owner: string, labels: Record<string, string>): void {
    const { replica, waitsMax, commandsMax, methods } = this.#context;
    this.#owner = owner;
    this.#labels = labels;
    this.#outbox.add({
      opened: {
        $typeName: "rowlock.v1.SessionOpened",
        replica,
        heartbeatInterval: durationMessage(methods.graceUs * HEARTBEAT_PER_GRACE),
        silenceMax: durationMessage(this.#silenceMs * 1_000),
        gracePeriod: durationMessage(methods.graceUs),
        waitsMax,
        commandsMax,
        messageBytesMax: this.#context.messageBytesMax,
      },
    });
  }

  #begin(command: SessionCommand): void {
    const { call: number, command: asked } = command;
    if (asked.case === "cancel") {
      const call = this.#calls.get(asked.value);
      if (!call) return;
      call.isGivenUp = true;
      this.#fail(call, cancelled());
      return;
    }
    if (number === 0n || this.#calls.has(number)) {
      this.#outbox.addResult(number, REJECTED, packedStatus(failureOf(rejected(number)).status));
      return;
    }
    const kind = asked.case && COMMANDS[asked.case];
    const call = new SessionCall(number, kind?.method ?? "Session", waits(command), this.#source);
    this.#calls.set(number, call);
    if (!call.isWait) this.#commandsUnderWay += 1;
    try {
      if (!kind) throw noCommand();
      if (this.#isDraining) throw shuttingDown();
      if (this.#commandsUnderWay > this.#context.commandsMax)
        throw tooManyCommands(this.#context.commandsMax);
      const timeoutMs = checkTimeout(command.timeout);
      if (timeoutMs !== undefined) call.limitTo(timeoutMs, () => this.#fail(call, timedOut()));
      this.#complete(asked);
      this.#run(call, kind, asked.value);
    } catch (error) {
      this.#workIsOver(call);
      this.#fail(call, error);
    }
  }

  /** Only now is there room for another command, even if the client cancelled this one long ago. */
  #workIsOver(call: SessionCall): void {
    if (!call.isWait) this.#commandsUnderWay -= 1;
    call.workIsOver();
  }

  /** Fills in the owner and the labels that the session's first request set for all of its commands. */
  #complete(asked: SessionCommand["command"]): void {
    const target = asked.case === "waitInQueue" ? asked.value.target : asked;
    if (target.case !== "acquire" && target.case !== "capture") return;
    if (target.value.owner === "") target.value.owner = this.#owner;
    target.value.labels = { ...this.#labels, ...target.value.labels };
  }

  // Not async: an async frame would keep the request in memory for as long as the call waits.
  #run(call: SessionCall, kind: CommandKind, message: Parameters<CommandKind["run"]>[1]): void {
    const tell = (answer: object, written?: () => void) => this.#tell(call, kind, answer, written);
    const givenBack = kind === COMMANDS.release ? (message as ReleaseRequest).leaseId : undefined;
    if (givenBack !== undefined) this.#leases.givesBack(givenBack);
    kind.run(this.#methods, message, call, tell).then(
      (answer) => {
        if (givenBack !== undefined) this.#leases.gaveBack(givenBack, true);
        // A stream resolves with undefined: it has sent everything by then.
        if (answer !== undefined) this.#tell(call, kind, answer);
        this.#workIsOver(call);
        if (!call.cancelled) this.#close(call, status.OK);
      },
      (error: unknown) => {
        if (givenBack !== undefined) this.#leases.gaveBack(givenBack, false);
        this.#workIsOver(call);
        this.#fail(call, error);
      },
    );
  }

  #tell(call: SessionCall, kind: CommandKind, answer: object | Buffer, written?: () => void): void {
    if (call.cancelled) return;
    for (const lease of leasesIn(answer)) this.#leases.told(lease, this.#outbox.next);
    this.#outbox.addResult(call.number, kind.field, encode(kind.output, answer as Answer), written);
  }

  /** Ends a call with an error; does nothing if it has ended already. */
  #fail(call: SessionCall, error: unknown): void {
    if (call.cancelled || this.#calls.get(call.number) !== call) return;
    const failure = failureOf(error);
    this.#context.frame.faultLog.failed(call.method, failure, error);
    this.#outbox.addResult(call.number, ERROR, packedStatus(failure.status));
    this.#close(call, failure.status.code);
    call.cancel();
  }

  #close(call: SessionCall, code: status): void {
    call.finish();
    this.#calls.delete(call.number);
    this.#observe(call, code);
    this.#endIfDone();
  }

  #observe(call: SessionCall, code: status): void {
    const seconds = (performance.now() - call.startedMs) / 1e3;
    this.#context.frame.observer.call(call.method, status[code], seconds, "session");
  }

  #endIfDone(): void {
    if (this.#calls.size > 0 || this.#isOver) return;
    if (this.#isDraining) this.#outbox.close(() => this.#end(shuttingDown()));
    else if (this.#isHalfClosed) this.#outbox.close(() => this.#end(null));
  }

  /** Counts checks instead of time: while this server itself is held up, it hears nobody. */
  #listen(): void {
    this.#leases.forgetEnded();
    this.#silentLooks = this.#heard === this.#heardAtLook ? this.#silentLooks + 1 : 0;
    this.#heardAtLook = this.#heard;
    // The first check after the last request still counts as heard, so the silence has lasted for LOOKS whole
    // intervals.
    if (this.#silentLooks >= LOOKS) this.#end(sessionSilent(this.#silenceMs));
  }

  /** `error` null: the session ends in good order. */
  #end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#silenceTimer);
    this.#leases.close();
    for (const call of this.#calls.values()) {
      this.#observe(call, status.CANCELLED);
      call.cancel();
    }
    this.#calls.clear();
    if (error === null) this.#ended.resolve();
    else this.#ended.reject(error);
  }

  #write(message: Buffer, written: () => void): void {
    if (this.#stream.cancelled || this.#isOver) return;
    this.#stream.write(message, (error: Error | null | undefined) => {
      // An error means that the stream is gone; the session's own cancellation reports that.
      if (!error) written();
    });
  }
}

function rejected(number: bigint): CallError {
  const description =
    number === 0n
      ? "is 0: number calls from 1 on"
      : `is ${number}, the number of an open call of this session: that call goes on, and this command was rejected`;
  return badRequest([{ field: "call", description }]);
}

function noCommand(): CallError {
  return badRequest([{ field: "command", description: "is required: say what this call asks for" }]);
}

function tooManyCommands(commandsMax: number): CallError {
  return sessionBound(
    "session_commands",
    `This session has ${commandsMax} commands under way, which is as many as it may have: wait for some to be answered.`,
  );
}

function unread(): CallError {
  return sessionBound("results_unread", "Too many results are unread: read the session's responses.");
}
