// A page that fills the terminal and is drawn again and again, until the terminal gets back what it showed before.

import type { CliContext } from "./context.ts";
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

export interface Screen {
  /** Draws the page, now and as time passes. Enters the alternate screen the first time. */
  draw(): void;
  close(): void;
}

/** @param page returns the text of the page as of now, without the time, which stands above it. */
export function screenOf(context: CliContext, page: () => string): Screen {
  const paint = paintOf(context);
  let leave: (() => void) | undefined;
  const write = (): void => {
    const all = `${paint("dim", new Date().toLocaleTimeString())}\n\n${page()}`.split("\n");
    const { rows = 24 } = context.screen ?? {};
    const more = paint("dim", `(${all.length - rows + 1} more lines)`);
    const lines = all.length < rows ? all : [...all.slice(0, rows - 2), more];
    const text = lines.map((line) => `${line}${ERASE_LINE_REST}`).join("\r\n");
    context.out(`${HOME_WITHOUT_WRAPPING}${text}${ERASE_REST_AND_WRAP}`);
  };
  const enter = () => {
    context.out(ENTER);
    const silence = context.onSignal("SIGWINCH", write);
    const redraws = setInterval(write, REDRAW_MS);
    return () => {
      clearInterval(redraws);
      silence();
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
