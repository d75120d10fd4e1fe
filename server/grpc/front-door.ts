// What becomes of a new call before grpc-js sees it, by its headers alone, which it mends first where Node or grpc-js
// would read something else than was sent. What is refused here costs no request, no promise and no line in the log of its
// own. Only calls that ask for something new are to come back: renewals, releases, reads, sessions and the services beside
// LockService are not.

import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { AccessError } from "../access/access-error.ts";
import { Allowance } from "../core/allowance.ts";
import { closeSoon, EarlyRefusal, ignore, type Refused, refuseUnseen, toComeBack } from "./early-refusal.ts";
import * as bounds from "./grpc-bounds.ts";
import * as errors from "./messages/call-error.ts";
import { headerBytes, type OpenStream, type OpenStreams } from "./open-streams.ts";
import type { ReadingTurns } from "./reading-turns.ts";
import type { Standing } from "./standing.ts";
import { StreamTurns } from "./stream-turns.ts";
import { type AnyVerb, isRefusable, ROWS } from "./verbs.ts";

export interface FrontDoorOptions {
  readonly headerBytesMax: number;
  readonly streams: OpenStreams;
  readonly standing: Standing;
  readonly reading: Pick<ReadingTurns<object>, "opened">;
  /** Nobody is asked who they are: whoever sends a request is known. */
  readonly isOpen: boolean;
  readonly withoutHeader: AccessError | null;
  readonly frame: Refused;
  readonly retryAfterIfLate: (peer: string) => number | undefined;
}

const OWN = `/${LockService.typeName}/`;
/** The rows of the methods, by their paths; a session has none. */
const BY_PATH: ReadonlyMap<unknown, AnyVerb> = new Map(
  Object.values(ROWS).map((verb) => [`${OWN}${verb.of.name}`, verb]),
);
const SESSION = `${OWN}${LockService.method.session.name}`;

const FULL = new EarlyRefusal(errors.tooManyStreams());
const UNFINISHED = new EarlyRefusal(errors.tooManyUnfinished());
const OTHERS = new EarlyRefusal(errors.tooManyOfOtherServices());

interface Open {
  readonly place: OpenStream;
  readonly connection: object;
  readonly isOwn: boolean;
  /** Whether grpc-js has it, or the server has refused it because there is too much to do. */
  state: "waits" | "begun" | "refused";
}

/** A property of the stream, and no WeakMap: each collection looks through those. */
const OPEN = Symbol("open call");

interface Marked {
  [OPEN]?: Open;
}

export class FrontDoor {
  readonly #options: FrontDoorOptions;
  readonly #turns = new StreamTurns();
  readonly #tooLarge: EarlyRefusal;
  readonly #missing: EarlyRefusal | null;
  /** The calls of other services on each connection. */
  readonly #others = new WeakMap<object, { open: number; readonly made: Allowance }>();

  constructor(options: FrontDoorOptions) {
    this.#options = options;
    this.#tooLarge = new EarlyRefusal(errors.headersTooLarge(options.headerBytesMax));
    this.#missing = options.withoutHeader && new EarlyRefusal(options.withoutHeader);
  }

  /** Gives a new call to grpc-js now or in its turn, or refuses it. `raw`: the headers, names and values by turns. */
  take(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    begin: () => void,
  ): void {
    mendHeaders(headers, raw);
    const verb = BY_PATH.get(headers[":path"]);
    if (!this.#admits(stream, headers, raw, verb)) return;
    const { frame, standing, retryAfterIfLate } = this.#options;
    const connection = stream.session ?? stream;
    const beginHere = () => {
      begin();
      this.#begun(stream);
    };
    if (!verb || !isRefusable(verb)) {
      this.#turns.add(connection, { stream, begin: beginHere });
      return;
    }
    const refuse = (retryAfterMs: number) => {
      this.#refused(stream);
      const refusal = toComeBack("calls_on_connection", retryAfterMs);
      if (refusal.endGently(stream)) refusal.note(frame, verb.of.name, "call");
    };
    const peer = standing.peerOf(connection);
    const retryAfterMs = peer === undefined ? undefined : retryAfterIfLate(peer);
    if (retryAfterMs !== undefined) refuse(retryAfterMs);
    else this.#turns.add(connection, { stream, begin: beginHere, refuse });
  }

  #admits(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    verb: AnyVerb | undefined,
  ): boolean {
    const { streams, standing, reading, headerBytesMax } = this.#options;
    const { session } = stream;
    const openedAtOnce = session ? reading.opened(session) : 0;
    if (session && openedAtOnce > bounds.UNKNOWN_OPENED_AT_ONCE_MAX && !standing.isKnown(session))
      standing.cutOff(session);
    if (!session || standing.isEnding(session)) {
      refuseUnseen(stream);
      return false;
    }
    const path = headers[":path"];
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
      this.#refused(stream);
      UNFINISHED.end(stream);
    });
    if (!place) return this.#refuse(stream, path, FULL);
    const open: Open = { place, connection: session, isOwn, state: "waits" };
    (stream as Marked)[OPEN] = open;
    stream.once("close", () => {
      // Nobody was identified for it, and its client has not waited for an answer.
      const isForNothing = place.isPending && isOwn && open.state !== "refused";
      if (isForNothing && !standing.isKnown(session)) standing.failedOn(session);
      streams.left(session, place);
      forgetListeners(stream);
    });
    return true;
  }

  arrived(stream: object | undefined): void {
    const open = (stream as Marked | undefined)?.[OPEN];
    if (!open) return;
    const { streams, standing, isOpen } = this.#options;
    streams.arrived(open.place);
    if (isOpen && open.isOwn) standing.knownOn(open.connection);
  }

  /** The server refuses the call because there is too much to do: that says nothing about its client. */
  #refused(stream: object): void {
    const open = (stream as Marked)[OPEN];
    if (open) open.state = "refused";
  }

  /** grpc-js has the call. Closes a stream that it has answered by itself: it leaves open what its client has not ended. */
  #begun(stream: ServerHttp2Stream): void {
    const open = (stream as Marked)[OPEN];
    if (open?.state === "waits") open.state = "begun";
    if (stream.headersSent && stream.writableEnded) closeSoon(stream);
  }

  #takesOther(session: object, stream: ServerHttp2Stream): boolean {
    const others = this.#others.get(session) ?? { open: 0, made: new Allowance() };
    this.#others.set(session, others);
    if (others.open >= bounds.OTHER_STREAMS_MAX) return false;
    if (others.made.take(1, bounds.OTHER_CALLS, performance.now()) === 0) return false;
    others.open += 1;
    stream.once("close", () => {
      others.open -= 1;
    });
    return true;
  }

  #refuse(stream: ServerHttp2Stream, path: unknown, refusal: EarlyRefusal): false {
    const { session } = stream;
    refusal.end(stream);
    this.#note(path, refusal, session);
    if (session && refusal !== FULL) this.#options.standing.failedOn(session);
    return false;
  }

  #note(path: unknown, refusal: EarlyRefusal, session: object | undefined): void {
    const { frame, standing } = this.#options;
    // Only names that exist become labels of metrics.
    const method = BY_PATH.get(path)?.of.name;
    if (method) refusal.note(frame, method, "call", session && standing.peerOf(session));
  }
}

/**
 * Node's streams live until the next full collection, and with them what listens to them: the whole call. Nothing follows
 * their `close`.
 */
function forgetListeners(stream: ServerHttp2Stream): void {
  stream.removeAllListeners();
  stream.on("error", ignore);
}

const CREDENTIALS = "authorization";
const DEADLINE = "grpc-timeout";
const FORM = /(\d{1,8})\s*([HMSmun])/;
const UNIT_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

export function mendHeaders(headers: IncomingHttpHeaders, raw: readonly string[] | undefined): void {
  if (raw && headers[CREDENTIALS] !== undefined) showRepeated(headers, raw);
  if (headers[DEADLINE] !== undefined) forgetLongDeadline(headers);
}

/**
 * Of headers that must not come twice, Node keeps the first and hides the others. Whoever checks credentials must see all
 * of them: a proxy in front could otherwise believe another one.
 */
function showRepeated(headers: IncomingHttpHeaders, raw: readonly string[]): void {
  const values: string[] = [];
  for (let at = 0; at < raw.length; at += 2) if (raw[at] === CREDENTIALS) values.push(raw[at + 1] ?? "");
  if (values.length > 1) (headers as Record<string, string | string[]>)[CREDENTIALS] = values;
}

/**
 * A deadline that no timer of Node can hold counts as none. grpc-js counts a deadline in 32 bits of milliseconds, so that
 * one of 30 days would end its call at once, although the call may have taken effect.
 */
function forgetLongDeadline(headers: IncomingHttpHeaders): void {
  const [, amount, unit = ""] = FORM.exec(String(headers[DEADLINE])) ?? [];
  if (amount !== undefined && Number(amount) * (UNIT_MS[unit] as number) > bounds.DEADLINE_MS_MAX)
    delete headers[DEADLINE];
}
