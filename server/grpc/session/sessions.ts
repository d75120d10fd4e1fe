// The open sessions of this server, and the frame around each: counts it, and ends its stream with a status.

import { type handleBidiStreamingCall, type ServerDuplexStream, status } from "@grpc/grpc-js";
import type { Identity } from "../../access/access.ts";
import { type BoundUse, mostUsed } from "../../core/bound-use.ts";
import { ClientGone } from "../../engine/faults.ts";
import { identified } from "../call-frame.ts";
import { SESSION_UNREAD_BYTES_MAX } from "../grpc-bounds.ts";
import { connectionTooOld, servedElsewhere, serverIsFull } from "../messages/call-error.ts";
import { failureOf } from "../messages/status.ts";
import type { ServerCapacity } from "../open-waits.ts";
import { Session, type SessionContext } from "./session.ts";

type Stream = ServerDuplexStream<Buffer, Buffer>;

export class Sessions {
  readonly #context: SessionContext;
  readonly #capacity: ServerCapacity;
  readonly #open = new Map<Session, () => void>();
  #isDraining = false;

  constructor(context: SessionContext, capacity: ServerCapacity) {
    this.#context = context;
    this.#capacity = capacity;
  }

  /** Serves one Session call. Refuses it if the server has no room for it, or does not know who calls. */
  readonly handler: handleBidiStreamingCall<Buffer, Buffer> = async (stream) => {
    const { observer, faultLog } = this.#context;
    const openedMs = performance.now();
    const closed = (code: status) =>
      observer.sessionClosed(status[code], (performance.now() - openedMs) / 1e3);
    let session: Session | undefined;
    try {
      const found = identified(this.#context, stream);
      // In the same tick if it is known already: the stream may end, and the server may stop, in between.
      session = this.#begun(stream, found instanceof Promise ? await found : found);
      if (this.#isDraining) session.drain();
      await session.run();
      closed(status.OK);
      stream.end();
    } catch (error) {
      const failure = failureOf(error);
      const isGone = error instanceof ClientGone;
      if (!isGone) faultLog.failed("Session", failure, error, undefined, stream.getPeer());
      if (session) closed(isGone ? status.CANCELLED : failure.status.code);
      // In grpc-js, this ends a stream with a status. After a cancellation, nobody would receive it.
      if (!stream.cancelled) stream.emit("error", failure.status);
    } finally {
      if (session) this.#left(session);
    }
  };

  get bounds(): readonly BoundUse[] {
    const used = [...this.#open.keys()].map((session) => session.used);
    const most = (bound: string, what: keyof Session["used"], max: number) =>
      mostUsed(
        bound,
        used.map((each) => each[what]),
        max,
      );
    return [
      { bound: "server_sessions", kind: "room", used: used.length, max: this.#capacity.sessions },
      most("session_waits", "waits", this.#context.waitsMax),
      most("session_commands", "commands", this.#context.commandsMax),
      most("results_unread", "unread", SESSION_UNREAD_BYTES_MAX),
    ];
  }

  #begun(stream: Stream, identity: Identity): Session {
    if (this.#open.size >= this.#capacity.sessions || this.#capacity.isShort())
      throw serverIsFull("sessions");
    const left = this.#context.usage.session(identity);
    const session = new Session(this.#context, stream, identity);
    this.#open.set(session, left);
    return session;
  }

  #left(session: Session): void {
    this.#open.get(session)?.();
    this.#open.delete(session);
  }

  endEach(whyEnd: (of: Pick<Session, "identity" | "peer">) => Error | null): void {
    for (const session of this.#open.keys()) {
      const why = whyEnd(session);
      if (why) session.end(why);
    }
  }

  /** Sends the clients of open sessions to another server. Still accepts new sessions. */
  sendElsewhere(): void {
    for (const session of this.#open.keys()) session.sendElsewhere(servedElsewhere());
  }

  leave(peer: string): void {
    for (const session of this.#open.keys())
      if (session.peer === peer) session.sendElsewhere(connectionTooOld());
  }

  /** Sends the clients of all sessions, also of later ones, to another server. Can be called twice. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (const session of this.#open.keys()) session.drain();
  }
}
