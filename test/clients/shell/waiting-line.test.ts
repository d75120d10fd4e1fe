// The place in the queue, as shown on a terminal and in a log.

import { expect, test } from "vitest";
import type { CliContext } from "../../../clients/shell/context.ts";
import { waitingLine } from "../../../clients/shell/take.ts";

function written(errIsTerminal: boolean) {
  const texts: string[] = [];
  const context = { errIsTerminal, err: (text: string) => void texts.push(text) } as unknown as CliContext;
  return { texts, line: waitingLine("job", context) };
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
