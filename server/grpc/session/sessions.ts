// The open sessions of this server, and the frame around each: counts it, and ends its stream with a status.

import type { handleBidiStreamingCall, ServerDuplexStream } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import type { Loss } from "../../access/access.ts";
import { ClientGone } from "../../engine/faults.ts";
import { identified } from "../identified.ts";
import { serverIsFull } from "../messages/call-error.ts";
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

  /** Serves one Session call. Refuses it if the server has no room for it, or does not know who calls. */
  readonly handler: handleBidiStreamingCall<Buffer, Buffer> = async (stream) => {
    const { observer, faultLog } = this.#context.frame;
    let session: Session;
    try {
      session = await this.#begun(stream);
    } catch (error) {
      const failure = failureOf(error);
      faultLog.failed("Session", failure, error);
      stream.emit("error", failure.status);
      return;
    }
    const openedMs = performance.now();
    const closed = (code: status) =>
      observer.sessionClosed(status[code], (performance.now() - openedMs) / 1e3);
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

  async #begun(stream: ServerDuplexStream<Buffer, Buffer>): Promise<Session> {
    const identity = await identified(this.#context.gate, stream);
    if (this.#open.size >= this.#room.sessions || this.#room.isShort()) throw serverIsFull("sessions");
    const session = new Session(this.#context, stream, identity);
    this.#open.add(session);
    return session;
  }

  /** Ends the sessions whose callers have lost what they came with. */
  endLost(loss: Loss): void {
    for (const session of this.#open) {
      const why = loss(session.identity);
      if (why) session.end(why);
    }
  }

  /** Sends the clients of open sessions to another server. Still accepts new sessions. */
  sendElsewhere(): void {
    for (const session of this.#open) session.sendElsewhere();
  }

  /** Sends the clients of all sessions, also of later ones, to another server. Can be called twice. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    for (const session of this.#open) session.drain();
  }
}
