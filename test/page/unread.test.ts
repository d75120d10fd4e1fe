// Browsers that do not read what they have asked for, and signs of life for those that do.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EventStream, sendJson } from "../../server/page/http.ts";
import { READ_MS_MAX, SIGN_OF_LIFE_MS } from "../../server/page/page-bounds.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** An answer whose connection takes what is written when the test says so. */
class SlowResponse extends EventEmitter {
  headersSent = false;
  destroyed = false;
  isEnded = false;
  readonly written: string[] = [];
  #taken: ((error?: Error | null) => void)[] = [];

  writeHead(): void {
    this.headersSent = true;
  }

  write(text: string, taken: (error?: Error | null) => void): void {
    this.written.push(text);
    this.#taken.push(taken);
  }

  end(): void {
    this.isEnded = true;
  }

  /** The browser has read everything. */
  read(error: Error | null = null): void {
    for (const taken of this.#taken.splice(0)) taken(error);
    if (this.isEnded) this.emit("close");
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

function opened() {
  const response = new SlowResponse();
  return { response, events: new EventStream(response as never) };
}

describe("a watch", () => {
  test("shows that it lives while it has no news, and nothing more once it has ended", () => {
    const { response, events } = opened();
    expect(events.hasBegun).toBe(false);
    vi.advanceTimersByTime(SIGN_OF_LIFE_MS);
    expect([events.hasBegun, response.written]).toEqual([true, [":\n\n"]]);
    response.read();
    events.send("{}");
    response.read();
    vi.advanceTimersByTime(SIGN_OF_LIFE_MS);
    response.read();
    events.end(null);
    response.read();
    vi.advanceTimersByTime(10 * SIGN_OF_LIFE_MS);
    expect(response.written).toEqual([":\n\n", "data: {}\n\n", ":\n\n"]);
    expect([response.destroyed, vi.getTimerCount()]).toEqual([false, 0]);
  });

  test("of which nobody reads a message ends, without further signs of life", () => {
    const { response, events } = opened();
    events.send("{}");
    vi.advanceTimersByTime(READ_MS_MAX - 1);
    expect([response.destroyed, response.written]).toEqual([false, ["data: {}\n\n"]]);
    vi.advanceTimersByTime(1);
    expect(response.destroyed).toBe(true);
    events.send("{}");
    expect(response.written).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("an answer that nobody reads does not stay", () => {
  for (const isRead of [true, false]) {
    const response = new SlowResponse();
    sendJson(response as never, 200, {});
    if (isRead) response.read();
    vi.advanceTimersByTime(READ_MS_MAX);
    expect(response.destroyed).toBe(!isRead);
  }
});
