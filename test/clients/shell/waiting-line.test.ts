// The place in the queue, as shown on a terminal and in a log.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CliContext } from "../../../clients/shell/context.ts";
import { laterReason, waitingLine } from "../../../clients/shell/take.ts";

function written(errIsTerminal: boolean, also?: Parameters<typeof waitingLine>[2]) {
  const texts: string[] = [];
  const context = { errIsTerminal, err: (text: string) => void texts.push(text) } as unknown as CliContext;
  return { texts, line: waitingLine("job", context, also) };
}

const at = (ahead: number) => ({
  ticketId: "1.1.x",
  ahead,
  permitsAhead: ahead,
  queueLength: 5,
  waitedMs: 12_000,
});

test("on a terminal it is one line, which disappears when the wait is over", () => {
  const { texts, line } = written(true);
  line.at(at(3));
  line.at(at(0));
  line.clear();
  line.clear();
  expect(texts).toEqual([
    '\r\x1b[Kwaiting for "job": 3 ahead in the queue, for 12 s so far',
    '\r\x1b[Kwaiting for "job": next in the queue, for 12 s so far',
    "\r\x1b[K",
  ]);
});

test("elsewhere it is a line for each place", () => {
  const { texts, line } = written(false);
  line.at(at(3));
  line.at(at(0));
  line.clear();
  expect(texts).toEqual([
    'rowlock: waiting for "job": 3 ahead in the queue, for 12 s so far\n',
    'rowlock: waiting for "job": next in the queue, for 12 s so far\n',
  ]);
});

test("a wait for the rate says how much of it is left", () => {
  const { texts, line } = written(false);
  line.at({ ...at(0), rateWaitMs: 3_000 });
  expect(texts).toEqual([
    'rowlock: waiting for "job": next in the queue, 3 s more by its rate, for 12 s so far\n',
  ]);
});

test("a wait at a pool names it", () => {
  const { texts, line } = written(false);
  for (const ahead of [2, 0]) line.at({ ...at(ahead), pool: "openai/*" });
  expect(texts).toEqual([
    'rowlock: waiting for "job": 2 ahead at the pool openai/*, for 12 s so far\n',
    'rowlock: waiting for "job": next at the pool openai/*, for 12 s so far\n',
  ]);
});

test("a wait for several locks names them, and the one at which most are before it", () => {
  const { texts, line } = written(false, [{ name: "b" }, { name: "c", mode: "shared" }]);
  line.at({ ...at(2), waitsFor: "b" });
  line.at({ ...at(0), waitsFor: "c" });
  line.say("anna holds b");
  expect(texts).toEqual([
    'rowlock: waiting for "job" (also b, c:shared): 2 ahead in the queue of "b", for 12 s so far\n',
    'rowlock: waiting for "job" (also b, c:shared): next in each queue, for 12 s so far\n',
    'rowlock: waiting for "job" (also b, c:shared): anna holds b\n',
  ]);
});

describe("the reason of a long wait", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  type Explain = Parameters<typeof laterReason>[0]["explainWait"];
  const PLACE = { ticketId: "1.2.secret" };
  const answering = (summary: string) =>
    vi.fn<Explain>(async () => ({ summary }) as Awaited<ReturnType<Explain>>);

  test("is asked for once, after ten seconds, by the latest ticket", async () => {
    const said: string[] = [];
    const explainWait = answering("anna holds it");
    const reason = laterReason({ explainWait }, (words) => said.push(words));
    reason.at(PLACE);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(explainWait).not.toHaveBeenCalled();
    reason.at({ ticketId: "1.3.secret" });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(explainWait.mock.calls).toEqual([[{ ticketId: "1.3.secret" }]]);
    expect(said).toEqual(["anna holds it"]);
  });

  test("costs only the words if the server does not give it", async () => {
    const said: string[] = [];
    const explainWait = vi.fn<Explain>().mockRejectedValue(new Error("UNIMPLEMENTED"));
    const reason = laterReason({ explainWait }, (words) => said.push(words));
    reason.at(PLACE);
    await vi.advanceTimersByTimeAsync(10_000);
    expect([explainWait.mock.calls.length, said]).toEqual([1, []]);
  });

  test("is a line of its own, also above the line that is rewritten", () => {
    const log = written(false);
    log.line.say("x\x1b[2J\ny");
    expect(log.texts).toEqual(['rowlock: waiting for "job": x\\u001b[2J\\u000ay\n']);
    const terminal = written(true);
    terminal.line.at(at(0));
    terminal.line.say("anna holds it");
    terminal.line.clear();
    expect(terminal.texts.join("")).toBe(
      [
        '\r\x1b[Kwaiting for "job": next in the queue, for 12 s so far',
        '\r\x1b[Krowlock: waiting for "job": anna holds it\n',
        '\r\x1b[Kwaiting for "job": next in the queue, for 12 s so far',
        "\r\x1b[K",
      ].join(""),
    );
  });
});
