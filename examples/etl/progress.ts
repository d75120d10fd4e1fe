// Shows the progress of the parts: on a terminal as a table that is redrawn, elsewhere as a line for each change.

const UP_AND_ERASE = (lines: number) => (lines > 0 ? `\x1b[${lines}A\x1b[J` : "");

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export class Progress {
  readonly #output: Output;
  readonly #told = new Map<string, string>();
  readonly #rows = new Map<string, number>();
  #drawn = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** What a part does now. */
  tell(part: string, what: string): void {
    this.#told.set(part, what);
    if (this.#output.isTTY) this.#draw();
    else this.#output.write(`${part} ${what}\n`);
  }

  /** How many rows of a part are loaded. */
  count(part: string, rows: number): void {
    this.#rows.set(part, rows);
    if (this.#output.isTTY) this.#draw();
  }

  #draw(): void {
    const lines = [...this.#told].map(
      ([part, what]) => `${part.padEnd(8)} ${String(this.#rows.get(part) ?? 0).padStart(6)} rows  ${what}\n`,
    );
    this.#output.write(UP_AND_ERASE(this.#drawn) + lines.join(""));
    this.#drawn = lines.length;
  }
}
