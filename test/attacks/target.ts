// What attacks share: raw connections to the server under attack, and a count of what it says to them.

import { setTimeout as sleep } from "node:timers/promises";
import { FRAME, RawConnection, type RawOptions, type RawTls } from "../support/http2-frames.ts";

/** Ends only with its process. */
export type Attack = (target: Target) => Promise<unknown>;

export class Target {
  readonly address: string;
  readonly seen: Record<string, number> = {};
  /** Unset: plain text. */
  readonly tls: RawTls | undefined;

  constructor(address: string, tls?: RawTls) {
    this.address = address;
    this.tls = tls;
  }

  note(what: string): void {
    if (!this.seen[what]) console.log(`seen ${what}`);
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  }

  /** The attack has its full strength from now on. */
  begun(): void {
    console.log("attacking");
  }

  /** A connection whose GOAWAY, resets and end are counted. */
  connect(options: RawOptions = {}): RawConnection {
    const connection = new RawConnection(this.address, { tls: this.tls, ...options });
    connection.onFrame = ({ type, payload }) => {
      if (type === FRAME.goaway) this.note(`goaway ${payload.readUInt32BE(4)} ${payload.subarray(8)}`.trim());
      if (type === FRAME.reset) this.note(`reset ${payload.readUInt32BE(0)}`);
    };
    connection.socket.once("close", () => this.note("closed"));
    return connection;
  }

  /** Connects, hands the connection to `act` until the server ends it, rests, and begins again. */
  async again(
    act: (connection: RawConnection) => Promise<unknown>,
    restMs: number,
    options: RawOptions = {},
  ): Promise<never> {
    for (;;) {
      const connection = this.connect(options);
      while (connection.isOpen && !connection.isGoingAway) await act(connection);
      // Reads what the server has still to say.
      await sleep(restMs);
      connection.close();
    }
  }
}

/** Runs the same in so many places at once. Resolves never, unless they all end. */
export function atOnce(count: number, run: (index: number) => Promise<unknown>): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, (_, index) => run(index)));
}
