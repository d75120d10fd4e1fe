// Who may do what on which locks, and patterns of names: a name, or a prefix with a star, the same for principals and for
// locks. Rules only allow, so their order means nothing: what no rule allows is denied. Pure; policy-file.ts reads policies.

import type { PrincipalName } from "./principal.ts";
import type { Needed, Right } from "./rights.ts";

export interface Pattern {
  readonly text: string;
  readonly isPrefix: boolean;
}

/** null: it has a star before its end. */
export function parsePattern(text: string): Pattern | null {
  const isPrefix = text.endsWith("*");
  const rest = isPrefix ? text.slice(0, -1) : text;
  return rest.includes("*") ? null : { text: rest, isPrefix };
}

export function matches({ text, isPrefix }: Pattern, name: string): boolean {
  return isPrefix ? name.startsWith(text) : name === text;
}

/** Whether the pattern matches every name with the prefix. */
export function covers({ text, isPrefix }: Pattern, prefix: string): boolean {
  return isPrefix && prefix.startsWith(text);
}

/** Names whose answer a set remembers; more begin anew. Programs ask for the same locks again and again. */
const NAMES_REMEMBERED_MAX = 1_000;

/** Many patterns. To match a new name takes a look-up for each length of a prefix, and not for each pattern. */
export class PatternSet {
  readonly #names = new Set<string>();
  readonly #prefixes = new Set<string>();
  readonly #lengths: readonly number[];
  readonly #remembered = new Map<string, boolean>();

  constructor(patterns: readonly Pattern[]) {
    for (const { text, isPrefix } of patterns) (isPrefix ? this.#prefixes : this.#names).add(text);
    this.#lengths = [...new Set([...this.#prefixes].map((prefix) => prefix.length))];
  }

  matches(name: string): boolean {
    const known = this.#remembered.get(name);
    if (known !== undefined) return known;
    if (this.#remembered.size >= NAMES_REMEMBERED_MAX) this.#remembered.clear();
    const found = this.#search(name);
    this.#remembered.set(name, found);
    return found;
  }

  #search(name: string): boolean {
    if (this.#names.has(name)) return true;
    for (const length of this.#lengths)
      if (length <= name.length && this.#prefixes.has(name.slice(0, length))) return true;
    return false;
  }
}

/** The longest prefix of all names that match the pattern and begin with `prefix`; null: there are none. */
function commonPrefix({ text, isPrefix }: Pattern, prefix: string): string | null {
  if (text.startsWith(prefix)) return text;
  return isPrefix && prefix.startsWith(text) ? prefix : null;
}

export interface Rule {
  readonly who: readonly Pattern[];
  /** Rights, and names of verbs. */
  readonly may: ReadonlySet<string>;
  readonly on: readonly Pattern[];
  /** For people: where it was written. */
  readonly line: number;
}

/** Each bound is absent if it was not written. */
export interface Quota {
  readonly claims?: number;
  readonly waiters?: number;
  readonly sessions?: number;
  readonly callsPerSecond?: number;
  readonly newNamesPerMinute?: number;
  readonly records?: number;
}

export interface QuotaRule extends Quota {
  readonly who: readonly Pattern[];
}

export interface LabelRule {
  readonly who: readonly Pattern[];
  readonly labels: Readonly<Record<string, string>>;
}

/** The labels that a policy fixes: no caller may choose their values. */
export interface FixedLabels {
  /** The keys that it fixes for anybody. Who has no value for one of them has no such label. */
  readonly keys: readonly string[];
  /** What this principal has. */
  readonly own: Readonly<Record<string, string>>;
}

/** What the policy allows one principal. */
export interface Allowed {
  on(needed: Needed, name: string): boolean;
  /** On all locks with the prefix. */
  under(needed: Needed, prefix: string): boolean;
  /** The longest prefix of all names with the prefix on which it is allowed; null: there are none. */
  within(needed: Needed, prefix: string): string | null;
}

/** What is allowed if there is no policy. */
export const EVERYTHING: Allowed = {
  on: () => true,
  under: () => true,
  within: (_needed, prefix) => prefix,
};

/** Principals whose rules are remembered; more begin anew. */
const PRINCIPALS_REMEMBERED_MAX = 10_000;

export class Policy {
  /** Whether a quota is about live claims, or about records, so that they must be counted. Asked for each event. */
  readonly boundsClaims: boolean;
  readonly boundsRecords: boolean;
  readonly #rules: readonly Rule[];
  readonly #quotas: readonly QuotaRule[];
  readonly #labels: readonly LabelRule[];
  readonly #labelKeys: readonly string[];
  readonly #remembered = new Map<PrincipalName, RulesOfOne>();

  constructor(rules: readonly Rule[], quotas: readonly QuotaRule[] = [], labels: readonly LabelRule[] = []) {
    this.#rules = rules;
    this.#quotas = quotas;
    this.#labels = labels;
    this.#labelKeys = [...new Set(labels.flatMap((rule) => Object.keys(rule.labels)))];
    this.boundsClaims = quotas.some(({ claims, waiters }) => claims !== undefined || waiters !== undefined);
    this.boundsRecords = quotas.some(({ records }) => records !== undefined);
  }

  of(principal: PrincipalName): RulesOfOne {
    const known = this.#remembered.get(principal);
    if (known) return known;
    if (this.#remembered.size >= PRINCIPALS_REMEMBERED_MAX) this.#remembered.clear();
    const rules = this.#rules.filter(({ who }) => who.some((pattern) => matches(pattern, principal)));
    const keys = this.#labelKeys;
    const labels = keys.length === 0 ? null : { keys, own: labelsOf(this.#labels, principal) };
    const found = new RulesOfOne(rules, quotaOf(this.#quotas, principal), labels);
    this.#remembered.set(principal, found);
    return found;
  }
}

export class RulesOfOne implements Allowed {
  readonly quota: Quota;
  /** null: the policy fixes none. */
  readonly labels: FixedLabels | null;
  readonly #rules: readonly Rule[];
  /** The names that each verb is allowed on with each right: asked for each call. */
  readonly #onByRight = new Map<Right, Map<string, PatternSet>>();

  constructor(rules: readonly Rule[], quota: Quota, labels: FixedLabels | null = null) {
    this.#rules = rules;
    this.quota = quota;
    this.labels = labels;
  }

  on(needed: Needed, name: string): boolean {
    let byVerb = this.#onByRight.get(needed.right);
    if (!byVerb) {
      byVerb = new Map();
      this.#onByRight.set(needed.right, byVerb);
    }
    let allowed = byVerb.get(needed.verb);
    if (!allowed) {
      allowed = new PatternSet(this.#about(needed).flatMap(({ on }) => on));
      byVerb.set(needed.verb, allowed);
    }
    return allowed.matches(name);
  }

  /** The first rule that allows it, for people. */
  ruleFor(needed: Needed, name: string): Rule | undefined {
    return this.#about(needed).find(({ on }) => on.some((pattern) => matches(pattern, name)));
  }

  under(needed: Needed, prefix: string): boolean {
    return this.#about(needed).some(({ on }) => on.some((pattern) => covers(pattern, prefix)));
  }

  within(needed: Needed, prefix: string): string | null {
    const found = this.#about(needed).flatMap(({ on }) => on.map((pattern) => commonPrefix(pattern, prefix)));
    return found.filter((each) => each !== null).reduce(sharedStart, null);
  }

  containsAll(others: RulesOfOne): boolean {
    const texts = new Set(this.#rules.flatMap(grantsOf));
    return others.#rules.flatMap(grantsOf).every((text) => texts.has(text));
  }

  #about({ verb, right }: Needed): readonly Rule[] {
    return this.#rules.filter(({ may }) => may.has(right) || may.has(verb));
  }
}

/** What a rule allows, one text for each right and pattern. */
function grantsOf({ may, on }: Rule): string[] {
  return [...may].flatMap((each) => on.map(({ text, isPrefix }) => `${each} ${isPrefix} ${text}`));
}

function sharedStart(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  const start = a.slice(0, length);
  return start.isWellFormed() ? start : a.slice(0, length - 1);
}

/** Each bound is that of the longest pattern that matches and has the bound. */
function quotaOf(quotas: readonly QuotaRule[], principal: PrincipalName): Quota {
  return Object.assign({}, ...fitting(quotas, principal).map(({ who: _who, ...quota }) => quota));
}

/** Each label is that of the longest pattern that matches and has the label. */
function labelsOf(rules: readonly LabelRule[], principal: PrincipalName): FixedLabels["own"] {
  return Object.assign({}, ...fitting(rules, principal).map(({ labels }) => labels));
}

/** Those that are about the principal, once for each pattern that matches: the longest pattern last. */
function fitting<About extends { readonly who: readonly Pattern[] }>(
  rules: readonly About[],
  principal: PrincipalName,
): About[] {
  const found = rules.flatMap((rule) => {
    const patterns = rule.who.filter((pattern) => matches(pattern, principal));
    return patterns.map(({ text, isPrefix }) => ({ length: text.length + (isPrefix ? 0 : 1), rule }));
  });
  return found.sort((a, b) => a.length - b.length).map(({ rule }) => rule);
}
