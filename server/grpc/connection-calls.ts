// The open calls of each connection outside its sessions, from arrival until their work is over, even if cancelled.
// The calls of a connection share as much of the engine as a session gets. Keeps nothing about connections without
// open calls.

import { Admission, type AdmissionRoom } from "./admission.ts";
import type { AnyCall } from "./handler.ts";
import { tooMuchUnderWay } from "./messages/call-error.ts";
import type { MethodContext } from "./methods/method.ts";

const BOUND = "calls_on_connection";

interface Connection {
  readonly context: MethodContext;
  calls: number;
}

export class ConnectionCalls {
  readonly #context: MethodContext;
  readonly #callsMax: number;
  readonly #room: AdmissionRoom;
  /** By the client's address and port. */
  readonly #open = new Map<string, Connection>();

  constructor(context: MethodContext, callsMax: number, room: AdmissionRoom) {
    this.#room = room;
    this.#context = context;
    this.#callsMax = callsMax;
  }

  /** Connections with open calls. */
  get connections(): number {
    return this.#open.size;
  }

  /** Throws OVERLOADED if the connection already has `callsMax` open calls. */
  run<Answer>(
    call: Pick<AnyCall, "getPeer">,
    work: (context: MethodContext) => Promise<Answer>,
  ): Promise<Answer> {
    const peer = call.getPeer();
    const connection = this.#open.get(peer) ?? this.#opened(peer);
    if (connection.calls >= this.#callsMax) throw tooMuchUnderWay(BOUND);
    connection.calls += 1;
    const leave = () => {
      connection.calls -= 1;
      if (connection.calls === 0) this.#open.delete(peer);
    };
    let answer: Promise<Answer>;
    try {
      answer = work(connection.context);
    } catch (error) {
      leave();
      throw error;
    }
    answer.then(leave, leave);
    return answer;
  }

  #opened(peer: string): Connection {
    const engine = new Admission(this.#room, BOUND).admit(this.#context.engine);
    const connection = { context: { ...this.#context, engine }, calls: 0 };
    this.#open.set(peer, connection);
    return connection;
  }
}
