// The outcome of one scenario in one language.

export type Outcome =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly why: string }
  /** It applies but cannot be run here. */
  | { readonly kind: "not run"; readonly why: string }
  /** It does not apply to this language. */
  | { readonly kind: "does not apply"; readonly why: string };

/** By scenario, then by language. */
export type Outcomes = ReadonlyMap<string, ReadonlyMap<string, Outcome>>;

export function closingLine(outcomes: Outcomes): string {
  const all = [...outcomes.values()].flatMap((languages) => [...languages.values()]);
  const count = (kind: Outcome["kind"]) => all.filter((outcome) => outcome.kind === kind).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("not run")} skipped`;
}
