// Draws a page of a terminal as an SVG: a letter a cell, in the colours and styles of its escape sequences.

import { escaped } from "../../bench/chart.ts";

const CELL = { width: 7.8, height: 17 };
const MARGIN = 12;
const BAR = 26;
const COLOURS: Readonly<Record<string, string>> = { 31: "#f2777a", 32: "#99cc99", 33: "#ffcc66" };

interface Style {
  readonly colour: string;
  readonly isBold: boolean;
  readonly isDim: boolean;
}

const PLAIN: Style = { colour: "#e6e6e6", isBold: false, isDim: false };

/** `title`: the command that drew the page. */
export function drawTerminal(title: string, page: string, columns: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence is what it looks for.
  const lines = page.replace(/\x1b\[\??[\d;]*[A-LN-Za-ln-z]/g, "").split("\r\n");
  while (lines.at(-1)?.trim() === "") lines.pop();
  const width = Math.ceil(columns * CELL.width) + 2 * MARGIN;
  const height = BAR + lines.length * CELL.height + 2 * MARGIN;
  const drawn = lines.map((line, row) => {
    const y = BAR + MARGIN + (row + 0.8) * CELL.height;
    return `<text x="${MARGIN}" y="${y.toFixed(1)}" xml:space="preserve">${spans(line)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="monospace" font-size="13">`,
    `<title>${escaped(title)}, from a real run</title>`,
    `<rect width="100%" height="100%" rx="6" fill="#2b2b2b"/>`,
    `<text x="${MARGIN}" y="18" fill="#9a9a9a">$ ${escaped(title)}</text>`,
    ...drawn,
    "</svg>\n",
  ].join("\n");
}

function spans(line: string): string {
  let style = PLAIN;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape sequence is what it looks for.
  const pieces = line.split(/\x1b\[([\d;]*)m/);
  return pieces
    .map((piece, at) => {
      if (at % 2 === 1) {
        for (const code of piece.split(";")) style = styled(style, code);
        return "";
      }
      if (piece === "") return "";
      const weight = style.isBold ? ' font-weight="bold"' : "";
      const opacity = style.isDim ? ' fill-opacity="0.6"' : "";
      return `<tspan fill="${style.colour}"${weight}${opacity}>${escaped(piece)}</tspan>`;
    })
    .join("");
}

function styled(style: Style, code: string): Style {
  if (code === "0" || code === "") return PLAIN;
  if (code === "1") return { ...style, isBold: true };
  if (code === "2") return { ...style, isDim: true };
  if (code === "22") return { ...style, isBold: false, isDim: false };
  if (code === "39") return { ...style, colour: PLAIN.colour };
  return { ...style, colour: COLOURS[code] ?? style.colour };
}
