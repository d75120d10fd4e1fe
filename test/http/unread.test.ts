// Clients that do not read what was written to them.

import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { UNREAD_CHECK_MS, UNREAD_MS_MAX } from "../../server/http/http-bounds.ts";
import { endIfUnread } from "../../server/http/unread.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

class Response extends EventEmitter {
  writableLength = 0;
  isDestroyed = false;

  destroy(): void {
    this.isDestroyed = true;
    this.emit("close");
  }
}

test("a stream of which nobody reads a message ends, and one that is read or has no news stays", () => {
  const response = new Response();
  endIfUnread(response as never);
  vi.advanceTimersByTime(10 * UNREAD_MS_MAX);
  response.writableLength = 5;
  vi.advanceTimersByTime(UNREAD_MS_MAX - UNREAD_CHECK_MS);
  response.writableLength = 0;
  vi.advanceTimersByTime(UNREAD_CHECK_MS);
  response.writableLength = 7;
  vi.advanceTimersByTime(UNREAD_MS_MAX);
  expect(response.isDestroyed).toBe(false);
  vi.advanceTimersByTime(UNREAD_CHECK_MS);
  expect([response.isDestroyed, vi.getTimerCount()]).toEqual([true, 0]);
});
