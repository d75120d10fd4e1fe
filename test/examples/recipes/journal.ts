// Reads the journal's lines "<who> begins ...", "<who> ends", "<who> fails" and "<who> dies", which the programs and
// the stage write.

/** The highest number that were at work at once. */
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

/** Who did this, in order: `whoDid("begins", lines)`. */
export function whoDid(what: string, lines: readonly string[]): string[] {
  const said = new RegExp(`^(.*?) ${what}\\b`);
  return lines.map((line) => said.exec(line)?.[1]).filter((who) => who !== undefined);
}
