// The page docs/bad-days.md, from what the players have said. What differs from run to run, such as ports, stands in
// capitals.

import type { Said } from "./players.ts";

export interface Day {
  readonly title: string;
  readonly about: string;
  readonly said: readonly Said[];
}

const HEAD = `# Bad days

What a program and its user hear when something is wrong, in each language and in the shell. \`npm run bad-days\` plays each of
these faults and writes this page, so do not edit it. All clients give up after 5 s, or 10 s during a wait (30 s by
default), and take leases of 5 s (30 s by default), so that the times are short. "Ended" is when the call failed or the scope ended, after the call or the fault.
`;

/** Whole seconds, as the rest depends on the machine. */
const time = (ms: number) => (ms < 1_500 ? "at once" : `${Math.round(ms / 1_000)} s`);

function cell(text: string): string {
  const steady = text
    .replace(/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, "$1:PORT")
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID")
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, "INSTANT");
  return steady
    .replaceAll("|", "\\|")
    .replaceAll("<", "&lt;")
    .replace(/\s*\n\s*/g, "<br>");
}

function tableOf({ title, about, said }: Day): string {
  const isSignalled = said.some(({ signalledMs }) => signalledMs !== undefined);
  const head = ["", ...(isSignalled ? ["loss reported"] : []), "ended", "as", "message"];
  const rows = said.map(({ language, signalledMs, endedMs, type, message, noise }) => [
    language,
    ...(isSignalled ? [signalledMs === undefined ? "" : time(signalledMs)] : []),
    time(endedMs),
    cell(type),
    cell(message) + (noise > 0 ? ` (and ${noise} lines of a library on standard error)` : ""),
  ]);
  const lines = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`);
  return `## ${title}\n\n${about}\n\n${lines.join("\n")}\n`;
}

export function pageOf(days: readonly Day[]): string {
  return `${[HEAD, ...days.map(tableOf)].join("\n")}`;
}
