// Compares an actual value with an expected one: an object must have the named fields and may have more.
//
//   {$min: 1, $max: 5}   a number in this range
//   {$matches: "words"}  a text that contains a match of this regular expression
//   {$lacks: "words"}    a text that does not contain these words
//   {$has: [...]}        a list in which some entry matches each of these
//   {$oneOf: [...]}      one of these
//   {$absent: true}      absent, or null

/** Returns why it does not match; undefined if it matches. */
export function mismatch(actual: unknown, expected: unknown, at = ""): string | undefined {
  const not = (what: string) =>
    `${at || "it"} should be ${what}, and is ${JSON.stringify(actual) ?? "not there"}`;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return not(JSON.stringify(expected));
    return first(expected.map((entry, index) => mismatch(actual[index], entry, `${at}[${index}]`)));
  }
  if (typeof expected !== "object" || expected === null)
    return actual === expected ? undefined : not(JSON.stringify(expected));
  const entries = Object.entries(expected);
  if (entries.some(([key]) => key.startsWith("$")))
    return first(
      entries.map(([key, value]) => (rule(key)(actual, value) ? undefined : not(words(key, value)))),
    );
  if (typeof actual !== "object" || actual === null) return not(JSON.stringify(expected));
  const fields = actual as Readonly<Record<string, unknown>>;
  return first(entries.map(([key, value]) => mismatch(fields[key], value, at ? `${at}.${key}` : key)));
}

type Rule = (actual: unknown, expected: never) => boolean;

const RULES: Readonly<Record<string, Rule>> = {
  $min: (actual, least: number) => typeof actual === "number" && actual >= least,
  $max: (actual, most: number) => typeof actual === "number" && actual <= most,
  $matches: (actual, pattern: string) => typeof actual === "string" && new RegExp(pattern, "i").test(actual),
  $lacks: (actual, unwanted: string) => typeof actual === "string" && !actual.includes(unwanted),
  $has: (actual, wanted: unknown[]) =>
    Array.isArray(actual) &&
    wanted.every((one) => actual.some((entry) => mismatch(entry, one) === undefined)),
  $oneOf: (actual, choices: unknown[]) => choices.some((choice) => mismatch(actual, choice) === undefined),
  $absent: (actual, isAbsent: boolean) => (actual === undefined || actual === null) === isAbsent,
};

function rule(key: string): (actual: unknown, expected: unknown) => boolean {
  const found = RULES[key];
  if (!found) throw new Error(`There is no ${key} (have: ${Object.keys(RULES).join(", ")})`);
  return found as (actual: unknown, expected: unknown) => boolean;
}

const words = (key: string, value: unknown) => `{${key}: ${JSON.stringify(value)}}`;
const first = (found: readonly (string | undefined)[]) => found.find((each) => each !== undefined);
