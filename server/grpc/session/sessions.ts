// The open sessions of this server, and the frame around each: counts it, and ends its stream with a status.

import type { handleBidiStreamingCall } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { ClientGone } from "../../engine/faults.ts";
import { connectionTooOld, servedElsewhere, serverIsFull } from "../messages/call-error.ts";
import { failureOf } from "../messages/status.ts";
import type { ServerRoom } from "../open-waits.ts";
import { Session, type SessionContext } from "./session.ts";

export class Sessions {
  readonly #context: SessionContext;
  readonly #room: ServerRoom;
  readonly #open = new Set<Session>();
  #isDraining = false;

  constructor(context: SessionContext, room: ServerRoom) {
    this.#context = context;
    this.#room = room;
  }

  /** Serves one Session call. Refuses it with OVERLOADED if the server has no room for it. */
  readonly handler: handleBidiStreamingCall<Buffer, Buffer> = async (stream) => {
    const { observer, faultLog } = this.#context.frame;
    if (this.#open.size >= this.#room.sessions || this.#room.isShort()) {
      stream.emit("error", failureOf(serverIsFull("sessions")).status);
      return;
    }
    const openedMs = performance.now();
    const closed = (code: status) =>
      observer.sessionClosed(status[code], (performance.now() - openedMs) / 1e3);
    const session = new Session(this.#context, stream);
    this.#open.add(session);
    observer.sessionOpened();
    try {
      if (this.#isDraining) session.drain();
      await session.run();
      closed(status.OK);
      stream.end();
    } catch (error) {
      const failure = failureOf(error);
      const isGone = error instanceof ClientGone;
      if (!isGone) faultLog.failed("Session", failure, error);
      closed(isGone ? status.CANCELLED : failure.status.code);
      // In grpc-js, this ends a stream with a status. After a cancellation, nobody would receive it.
      if (!stream.cancelled) stream.emit("error", failure.status);
    } finally {
      this.#open.delete(session);
    }
  };

  /** Sends the clients of open sessions to another server. Still accepts new sessions. */
  sendElsewhere(): void {
    for (const session of this.#open) session.sendElsewhere(servedElsewhere());
  }

  /** Sends the clients of the sessions on one connection to a new connection. */
  leave(peer: string): void {
    for (const session of this.#open) if (session.peer === peer) session.sendElsewhere(connectionTooOld());
  }

  /** Sends the clients of all sessions, also of later ones, to another server. Can be called twice. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (const session of this.#open) session.drain();
  }
}
