// A TCP proxy between two parts of a run. It keeps the order of bytes, as a network does: what it holds back comes later,
// and only a cut loses anything.

import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** How each transaction of a Rowlock server ends. */
const COMMIT = Buffer.from("COMMIT");
/** While more waits to be passed on, the sender is not read. */
const HELD_BYTES_MAX = 2 ** 20;

export interface Line {
  readonly port: number;
  /** The port that it leads to. */
  readonly to: number;
  /** Cuts all connections, and refuses new ones until `heal`. */
  cut(): void;
  /** Passes nothing on until `heal`, and then everything. */
  hole(): void;
  /** Passes everything on later by this, until `heal`. */
  slow(ms: number): void;
  heal(): void;
  /** Cuts the connections of the next commits: before they arrive, or before their answer does. */
  loseCommits(count: number, what: "request" | "answer"): void;
  close(): Promise<void>;
}

export async function openLine(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let delayMs = 0;
  let open = Promise.resolve();
  let reopen = () => {};
  let toLose: ("request" | "answer")[] = [];

  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const pass = (from: Socket, to: Socket, mayPass: (chunk: Buffer) => boolean) => {
    let last = Promise.resolve();
    let heldBytes = 0;
    from.on("data", (chunk: Buffer) => {
      heldBytes += chunk.length;
      if (heldBytes > HELD_BYTES_MAX) from.pause();
      const dueMs = performance.now() + delayMs;
      last = last.then(async () => {
        await open;
        const restMs = dueMs - performance.now();
        if (restMs > 1) await sleep(restMs);
        heldBytes -= chunk.length;
        from.resume();
        if (!to.destroyed && mayPass(chunk)) to.write(chunk);
      });
    });
    from.on("end", () => void last.then(() => to.end()));
  };
  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      // Closing or failing on one side closes the other.
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    let isAnswerLost = false;
    pass(near, far, (chunk) => {
      const lost = chunk.subarray(-COMMIT.length).equals(COMMIT) ? toLose.shift() : undefined;
      isAnswerLost = lost === "answer";
      if (lost === "request") near.destroy();
      return lost !== "request";
    });
    pass(far, near, () => {
      if (isAnswerLost) near.destroy();
      return !isAnswerLost;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    to: port,
    cut() {
      isCut = true;
      cutAll();
    },
    hole() {
      open = new Promise((resolve) => {
        reopen = resolve;
      });
    },
    slow(ms) {
      delayMs = ms;
    },
    heal() {
      isCut = false;
      delayMs = 0;
      toLose = [];
      reopen();
    },
    loseCommits(count, what) {
      toLose = Array.from({ length: count }, () => what);
    },
    async close() {
      reopen();
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
