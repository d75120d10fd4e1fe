// The messages of a watch as server-sent events. One that its browser does not read ends; until then it gets no more
// messages, and the engine collects the changes.

import type { ServerResponse } from "node:http";
import { endUnread, type FailureBody } from "./answers.ts";
import { READ_MS_MAX, SIGN_OF_LIFE_MS } from "./page-bounds.ts";

export class EventStream {
  readonly #response: ServerResponse;
  readonly #signs: NodeJS.Timeout;
  /** Runs while the browser has not taken what was written last. */
  #unread: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#signs = setInterval(() => this.#sign(), SIGN_OF_LIFE_MS);
    response.once("close", () => this.#stop());
  }

  /** Whether something was sent, so that the status cannot be changed any more. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a message, and calls `written` when the connection has taken it. */
  send(json: string, written?: () => void): void {
    this.#write(`data: ${json}\n\n`, written);
  }

  /** Ends the stream; null: it has no more to say. */
  end(why: FailureBody | null): void {
    if (why) this.#write(`event: end\ndata: ${JSON.stringify(why)}\n\n`);
    this.#stop();
    endUnread(this.#response);
    this.#response.end();
  }

  #sign(): void {
    if (this.#unread === undefined) this.#write(":\n\n");
  }

  #write(text: string, written?: () => void): void {
    if (this.#response.destroyed) return;
    if (!this.hasBegun) this.#begin();
    clearTimeout(this.#unread);
    const unread = setTimeout(() => this.#response.destroy(), READ_MS_MAX);
    this.#unread = unread;
    this.#response.write(text, (error) => {
      // An error means that the browser has gone; the call's own cancellation reports that.
      if (error) return;
      clearTimeout(unread);
      if (this.#unread === unread) this.#unread = undefined;
      written?.();
    });
  }

  #begin(): void {
    this.#response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "cross-origin-resource-policy": "same-origin",
      // Proxies would wait for more.
      "x-accel-buffering": "no",
    });
  }

  #stop(): void {
    clearInterval(this.#signs);
    clearTimeout(this.#unread);
  }
}
