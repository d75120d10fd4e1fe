// What the page makes of a stream of changes, and of text that arrives in pieces.

import { describe, expect, test } from "vitest";
import { EventParser } from "../../../clients/page/src/event-stream.ts";
import { LocksFeed } from "../../../clients/page/src/locks-feed.ts";

const named = (...names: string[]) => names.map((name) => ({ name }));
const namesIn = (feed: LocksFeed) => [...feed.rows.keys()];

describe("a feed of locks", () => {
  test("shows the first snapshot while it comes, and says when it is complete", () => {
    const feed = new LocksFeed();
    feed.apply({ locks: named("a", "b") });
    expect([namesIn(feed), feed.isComplete]).toEqual([["a", "b"], false]);
    feed.apply({ locks: named("c"), complete: true });
    expect([namesIn(feed), feed.isComplete]).toEqual([["a", "b", "c"], true]);
  });

  test("changes, adds and removes locks after that", () => {
    const feed = new LocksFeed();
    feed.apply({ locks: named("a", "b"), complete: true });
    feed.apply({ locks: [{ name: "a", waiterCount: 3 }, { name: "d" }], deleted: ["b", "never seen"] });
    expect(namesIn(feed)).toEqual(["a", "d"]);
    expect(feed.rows.get("a")?.waiting).toBe(3);
  });

  test("keeps showing what it had until a snapshot that began anew is complete, and then nothing else", () => {
    const feed = new LocksFeed();
    feed.apply({ locks: named("a", "b"), complete: true });
    feed.apply({ beganAnew: true, locks: named("b") });
    expect(namesIn(feed)).toEqual(["a", "b"]);
    feed.apply({ locks: named("c"), deleted: ["b"] });
    feed.apply({ complete: true });
    expect(namesIn(feed)).toEqual(["c"]);
  });

  test("forgets an unfinished snapshot when another one begins", () => {
    const feed = new LocksFeed();
    feed.apply({ locks: named("a") });
    feed.begin();
    feed.apply({ locks: named("b"), complete: true });
    expect(namesIn(feed)).toEqual(["b"]);
  });

  test("knows how long the first waiter waits", () => {
    const feed = new LocksFeed();
    const waiters = [{ requestedAt: "2030-01-31T06:00:00.123456Z" }, { requestedAt: "2030-01-31T06:00:01Z" }];
    feed.apply({ locks: [{ name: "a", waiterCount: 2, waiters }, { name: "b" }] });
    expect(feed.rows.get("a")?.oldestMs).toBe(Date.UTC(2030, 0, 31, 6, 0, 0, 123));
    expect(feed.rows.get("b")?.oldestMs).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("a parser of events", () => {
  const text = ':\n\ndata: {"a":1}\n\nevent: end\r\ndata: {"b":\r\ndata: 2}\r\n\r\n:\n\n';
  const whole = [
    { event: "message", data: '{"a":1}' },
    { event: "end", data: '{"b":\n2}' },
  ];

  test("gives the same events wherever the text is cut", () => {
    for (let cut = 0; cut <= text.length; cut++) {
      const parser = new EventParser();
      const events = [...parser.add(text.slice(0, cut)), ...parser.add(text.slice(cut))];
      expect(events, `cut at ${cut}`).toEqual(whole);
    }
  });

  test("gives nothing for an event that has not ended", () => {
    expect([...new EventParser().add("data: 1\n")]).toEqual([]);
  });
});
