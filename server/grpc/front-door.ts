// What becomes of a new call before grpc-js sees it, by its headers alone: whether they are small enough, whether they
// name a caller where one is asked for, and whether there is room. What is refused here costs no request, no promise and
// no line in the log of its own.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { AccessError } from "../access/access-error.ts";
import { Allowance } from "../core/allowance.ts";
import type { Frame } from "./call-observer.ts";
import { OTHER_CALLS, OTHER_STREAMS_MAX, UNKNOWN_OPENED_AT_ONCE_MAX } from "./grpc-bounds.ts";
import {
  type CallError,
  headersTooLarge,
  tooManyOfOtherServices,
  tooManyStreams,
  tooManyUnfinished,
} from "./messages/call-error.ts";
import { failureOf } from "./messages/status.ts";
import { headerBytes, type OpenStream, type OpenStreams } from "./open-streams.ts";
import type { ReadingTurns } from "./reading-turns.ts";
import type { Standing } from "./standing.ts";
import { closeSoon, endWith, refuseUnseen, trailersOnly } from "./trailers-only.ts";
import { type AnyVerb, ROWS } from "./verbs.ts";

export interface FrontDoorOptions {
  readonly headerBytesMax: number;
  readonly streams: OpenStreams;
  readonly standing: Standing;
  readonly reading: Pick<ReadingTurns<object>, "opened">;
  /** Nobody is asked who they are: whoever sends a request is known. */
  readonly isOpen: boolean;
  /** As in Gate. */
  readonly withoutHeader: AccessError | null;
  readonly frame: Pick<Frame, "observer" | "faultLog">;
}

const OWN = `/${LockService.typeName}/`;
/** The rows of the methods, by their paths; a session has none. */
const BY_PATH: ReadonlyMap<unknown, AnyVerb> = new Map(
  Object.values(ROWS).map((verb) => [`${OWN}${verb.of.name}`, verb]),
);
const SESSION = `${OWN}${LockService.method.session.name}`;

/** A refusal that is made once. */
class Refusal {
  readonly error;
  readonly failure;
  readonly answer: OutgoingHttpHeaders;
  readonly code: string;

  constructor(error: CallError | AccessError, code: string) {
    this.error = error;
    this.failure = failureOf(error);
    this.answer = trailersOnly(this.failure);
    this.code = code;
  }
}

const FULL = new Refusal(tooManyStreams(), "RESOURCE_EXHAUSTED");
const UNFINISHED = new Refusal(tooManyUnfinished(), "RESOURCE_EXHAUSTED");
const OTHERS = new Refusal(tooManyOfOtherServices(), "RESOURCE_EXHAUSTED");

interface Open {
  readonly place: OpenStream;
  readonly connection: object;
  /** Of LockService, where callers are identified. */
  readonly isOwn: boolean;
  /** Whether grpc-js has it, or the server has refused it because there is too much to do. */
  state: "waits" | "begun" | "refused";
}

/** The calls of other services on one connection. */
interface Others {
  open: number;
  readonly made: Allowance;
}

export class FrontDoor {
  readonly #options: FrontDoorOptions;
  readonly #tooLarge: Refusal;
  readonly #missing: Refusal | null;
  readonly #open = new WeakMap<object, Open>();
  readonly #others = new WeakMap<object, Others>();

  constructor(options: FrontDoorOptions) {
    this.#options = options;
    this.#tooLarge = new Refusal(headersTooLarge(options.headerBytesMax), "RESOURCE_EXHAUSTED");
    this.#missing = options.withoutHeader && new Refusal(options.withoutHeader, "UNAUTHENTICATED");
  }

  /** Whether the call may go on. Otherwise it is answered. `raw`: the headers, names and values by turns. */
  admits(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]): boolean {
    const { streams, standing, reading, headerBytesMax } = this.#options;
    const { session } = stream;
    const openedAtOnce = session ? reading.opened(session) : 0;
    if (session && openedAtOnce > UNKNOWN_OPENED_AT_ONCE_MAX && !standing.isKnown(session))
      standing.cutOff(session);
    if (!session || standing.isEnding(session)) {
      refuseUnseen(stream);
      return false;
    }
    const path = headers[":path"];
    const verb = BY_PATH.get(path);
    const isOwn = verb !== undefined || path === SESSION;
    const bytes = headerBytes(raw);
    if (bytes > headerBytesMax) return this.#refuse(stream, path, this.#tooLarge);
    if (isOwn && this.#missing && headers.authorization === undefined)
      return this.#refuse(stream, path, this.#missing);
    if (!isOwn && !this.#takesOther(session, stream)) return this.#refuse(stream, path, OTHERS);
    const isUrgent = verb?.admission === "urgent";
    const place = streams.enter(session, bytes, isUrgent, () => {
      this.#note(path, UNFINISHED, session);
      // Before that, its request may be there, and has not been looked at.
      if (open?.state === "begun") standing.failedOn(session);
      this.refused(stream);
      endWith(stream, UNFINISHED.answer);
    });
    if (!place) return this.#refuse(stream, path, FULL);
    const open: Open = { place, connection: session, isOwn, state: "waits" };
    this.#open.set(stream, open);
    stream.once("close", () => {
      // Nobody was identified for it, and its client has not waited for an answer.
      const isForNothing = place.isPending && isOwn && open.state !== "refused";
      if (isForNothing && !standing.isKnown(session)) standing.failedOn(session);
      streams.left(session, place);
    });
    return true;
  }

  /** The request of the call has arrived. */
  arrived(stream: object | undefined): void {
    const open = stream && this.#open.get(stream);
    if (!open) return;
    const { streams, standing, isOpen } = this.#options;
    streams.arrived(open.place);
    if (isOpen && open.isOwn) standing.knownOn(open.connection);
  }

  /** The server refuses the call because there is too much to do: that says nothing about its client. */
  refused(stream: object): void {
    const open = this.#open.get(stream);
    if (open) open.state = "refused";
  }

  /** grpc-js has the call. Closes a stream that it has answered by itself: it leaves open what its client has not ended. */
  begun(stream: ServerHttp2Stream): void {
    const open = this.#open.get(stream);
    if (open?.state === "waits") open.state = "begun";
    if (stream.headersSent && stream.writableEnded) closeSoon(stream);
  }

  #takesOther(session: object, stream: ServerHttp2Stream): boolean {
    let others = this.#others.get(session);
    if (!others) {
      others = { open: 0, made: new Allowance() };
      this.#others.set(session, others);
    }
    if (others.open >= OTHER_STREAMS_MAX) return false;
    if (others.made.take(1, OTHER_CALLS, performance.now()) === 0) return false;
    const own = others;
    own.open += 1;
    stream.once("close", () => {
      own.open -= 1;
    });
    return true;
  }

  #refuse(stream: ServerHttp2Stream, path: unknown, refusal: Refusal): false {
    const { session } = stream;
    endWith(stream, refusal.answer);
    this.#note(path, refusal, session);
    if (session && refusal !== FULL) this.#options.standing.failedOn(session);
    return false;
  }

  #note(path: unknown, { failure, error, code }: Refusal, session: object | undefined): void {
    const { frame, standing } = this.#options;
    const { observer, faultLog } = frame;
    // Only names that exist become labels of metrics.
    const method = BY_PATH.get(path)?.of.name;
    if (method === undefined) return;
    observer.call(method, code, 0, "call");
    faultLog.failed(method, failure, error, undefined, session && standing.peerOf(session));
  }
}
