// A page that is rewritten in place on the terminal's alternate screen, so that the earlier contents come back at the
// end.

import type { CliContext } from "../context.ts";
import type { Paint } from "./print.ts";

const ENTER = "\x1b[?1049h\x1b[?25l";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const ERASE_LINE_REST = "\x1b[K";
const ERASE_REST = "\x1b[J";

export class LivePage {
  readonly #context: CliContext;
  readonly #paint: Paint;
  readonly #silence: () => void;
  #lines: readonly string[] = [];

  constructor(context: CliContext, paint: Paint) {
    this.#context = context;
    this.#paint = paint;
    context.out(ENTER);
    this.#silence = context.onSignal("SIGWINCH", () => this.#draw());
  }

  show(text: string): void {
    this.#lines = text.split("\n");
    this.#draw();
  }

  leave(): void {
    this.#silence();
    this.#context.out(LEAVE);
  }

  /** Draws as many lines as fit. Turns off line wrapping, so that lines that are too long end at the edge. */
  #draw(): void {
    const { rows = 24 } = this.#context.screen ?? {};
    const hidden = this.#lines.length - rows + 1;
    const lines =
      this.#lines.length < rows
        ? this.#lines
        : [...this.#lines.slice(0, rows - 2), this.#paint("dim", `(${hidden} more lines)`)];
    this.#context.out(
      `\x1b[?7l${HOME}${lines.map((line) => `${line}${ERASE_LINE_REST}`).join("\r\n")}${ERASE_REST}\x1b[?7h`,
    );
  }
}
