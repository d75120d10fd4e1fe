// A page that fills the terminal and is drawn again and again, until the terminal gets back what it showed before.

import type { CliContext } from "./context.ts";
import { localTime } from "./past-times.ts";
import { paintOf } from "./print.ts";

/** How often the page is redrawn if only the time has changed. */
const REDRAW_MS = 1_000;
/** The terminal's alternate screen, so that the earlier contents come back at the end. */
const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
/** Without line wrapping, lines that are too long end at the edge. */
const HOME_WITHOUT_WRAPPING = "\x1b[?7l\x1b[H";
const ERASE_LINE_REST = "\x1b[K";
const ERASE_REST_AND_WRAP = "\x1b[J\x1b[?7h";

/** Keys that scroll, as terminals send them, with how many lines, by the height of what scrolls. */
const SCROLLS: Readonly<Record<string, (height: number) => number>> = {
  ...keys(["\x1b[A", "\x1bOA", "k"], () => -1),
  ...keys(["\x1b[B", "\x1bOB", "j"], () => 1),
  ...keys(["\x1b[5~", "b"], (height) => -height),
  ...keys(["\x1b[6~", " "], (height) => height),
  ...keys(["\x1b[H", "\x1b[1~", "\x1bOH", "g"], () => Number.NEGATIVE_INFINITY),
  ...keys(["\x1b[F", "\x1b[4~", "\x1bOF", "G"], () => Number.POSITIVE_INFINITY),
};
/** Ctrl-C is here because a terminal that reads keys does not turn it into a signal. */
const ENDS: Readonly<Record<string, NodeJS.Signals>> = { q: "SIGTERM", "\x03": "SIGINT" };
const KEY = /\p{Cc}\[[\d;]*[A-Za-z~]|\p{Cc}O[A-Z]|[\s\S]/gu;

function keys<Scroll>(names: readonly string[], scroll: Scroll): Record<string, Scroll> {
  return Object.fromEntries(names.map((name) => [name, scroll]));
}

export interface Page {
  /** Beside the time. */
  readonly summary?: string;
  /** Lines that stay on the screen. */
  readonly head?: readonly string[];
  /** Lines that scroll. */
  readonly body: readonly string[];
}

export interface Screen {
  /** Draws the page, now and as time passes. Enters the alternate screen the first time. */
  draw(): void;
  close(): void;
}

/** @param page returns the page as of now, without the time, which stands above it. */
export function screenOf(context: CliContext, page: () => Page): Screen {
  const paint = paintOf(context);
  let leave: (() => void) | undefined;
  let from = 0;
  /** How many lines scroll, and how many of them are shown. */
  let [count, height] = [0, 1];
  let readsKeys = false;
  const write = (): void => {
    const { summary, head = [], body } = page();
    const { rows = 24 } = context.screen ?? {};
    const above = [[paint("dim", localTime(new Date())), summary].filter(Boolean).join("  "), "", ...head];
    const room = rows - above.length;
    count = body.length;
    height = Math.max(1, count > room ? room - 1 : room);
    from = Math.max(0, Math.min(from, count - height));
    const shownLines = body.slice(from, from + height);
    const scroll = readsKeys ? ": arrows and Page Up or Down scroll, q ends" : "";
    const below =
      count > height
        ? [paint("dim", `lines ${from + 1} to ${from + shownLines.length} of ${count}${scroll}`)]
        : [];
    const text = [...above, ...shownLines, ...below].map((line) => `${line}${ERASE_LINE_REST}`).join("\r\n");
    context.out(`${HOME_WITHOUT_WRAPPING}${text}${ERASE_REST_AND_WRAP}`);
  };
  const pressed = (chunk: string): void => {
    for (const [key] of chunk.matchAll(KEY)) {
      const end = ENDS[key];
      if (end !== undefined) context.kill(0, end);
      from = Math.max(0, Math.min(from + (SCROLLS[key]?.(height) ?? 0), count - height));
    }
    write();
  };
  const enter = () => {
    context.out(ENTER);
    const silence = context.onSignal("SIGWINCH", write);
    const redraws = setInterval(write, REDRAW_MS);
    const release = context.onKeys(pressed);
    readsKeys = release !== undefined;
    return () => {
      clearInterval(redraws);
      silence();
      release?.();
      context.out(LEAVE);
    };
  };
  return {
    draw() {
      leave ??= enter();
      write();
    },
    close: () => leave?.(),
  };
}
