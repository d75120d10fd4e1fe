// What people see of changes that somebody made: of limits, records and policies, and of forced releases.

import type { ChangeView } from "../typescript/src/index.ts";
import { localTime } from "./past-times.ts";
import { columns, counted, type Paint, shown } from "./print.ts";

const TITLES = ["WHEN", "WHAT", "OF", "BY", "FROM", "TO", "WHY"];
/** As much of a policy's hash as tells two apart. */
const HASH_CHARS = 12;

export function changeTable(changes: readonly ChangeView[], paint: Paint): string {
  const titles = TITLES.map((title) => paint("bold", title));
  return columns([titles, ...changes.map(changeCells)]);
}

function changeCells({ changedAt, kind, name, pattern, changedBy, from, to, reason }: ChangeView): string[] {
  const words = WORDS[kind];
  return [
    changedAt ? localTime(changedAt) : "",
    kind,
    shown(name ?? pattern ?? ""),
    shown(changedBy),
    shown(words(from)),
    shown(kind === "forced release" ? "ended" : words(to)),
    shown(reason),
  ];
}

/** What the text of a change before and after it says. */
const WORDS: Readonly<Record<ChangeView["kind"], (text: string) => string>> = {
  limit: (text) => (text === "" ? "not set" : text),
  record: (text) => (text === "" ? "none" : recordWords(text)),
  "forced release": claimWords,
  policy: (text) => text.slice(0, HASH_CHARS),
};

function recordWords(text: string): string {
  const fields = fieldsOf(text);
  if (!fields) return text;
  const { status = "", attempts_left, not_before } = fields;
  const words = [
    ...(status === "" ? [] : [`status ${status}`]),
    ...(attempts_left === undefined ? [] : [`${counted(Number(attempts_left), "attempt")} left`]),
    ...(not_before === undefined ? [] : [`not before ${not_before}`]),
  ];
  return words.length === 0 ? "empty" : words.join(", ");
}

function claimWords(text: string): string {
  const fields = fieldsOf(text);
  if (!fields) return text;
  const { ticket_number, state, owner, principal } = fields;
  const who = principal ? `${owner} (${principal})` : owner;
  return `#${ticket_number} of ${who}, which ${state === "held" ? "held it" : "waited"}`;
}

/** The fields of a JSON object; undefined: the text is none, as of a newer server. */
function fieldsOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
