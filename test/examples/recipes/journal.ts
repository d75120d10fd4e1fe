// What the lines of a journal say, where they read "<who> begins ...", "<who> ends", "<who> fails" and "<who> dies": the programs' and the
// stage's own words.

/** How many were at work at once, at the most. */
export function mostAtOnce(lines: readonly string[]): number {
  let atWork = 0;
  let most = 0;
  for (const line of lines) {
    if (/ begins\b/.test(line)) atWork += 1;
    if (/ (ends|fails|dies)\b/.test(line)) atWork -= 1;
    most = Math.max(most, atWork);
  }
  return most;
}

/** Who it is said of, in order: `whoDid("begins", lines)`. */
export function whoDid(what: string, lines: readonly string[]): string[] {
  const said = new RegExp(`^(.*?) ${what}\\b`);
  return lines.map((line) => said.exec(line)?.[1]).filter((who) => who !== undefined);
}
