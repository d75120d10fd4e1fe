// Reads a policy from YAML. Finds all faults at once, each with its line, so that a file is either wholly in force or
// not at all.

import { isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from "yaml";
import { LABEL_KEY_BYTES_MAX, LABELS_MAX, NAME_BYTES_MAX, TEXT_BYTES_MAX } from "../core/bounds.ts";
import {
  type LabelRule,
  type Pattern,
  Policy,
  parsePattern,
  type Quota,
  type QuotaRule,
  type Rule,
} from "./policy.ts";
import { SOURCES } from "./principal.ts";
import { RIGHTS, VERB_NAMES } from "./rights.ts";

/** A policy, or all of its faults, each a sentence with its line. */
export type ReadPolicy = { readonly value: Policy } | { readonly faults: readonly string[] };

const QUOTA_FIELDS = {
  claims: "claims",
  waiters: "waiters",
  sessions: "sessions",
  calls_per_second: "callsPerSecond",
  new_names_per_minute: "newNamesPerMinute",
  records: "records",
} as const;

const QUOTA_MAX = 1_000_000_000;
const RULES_MAX = 10_000;

export function readPolicy(text: string): ReadPolicy {
  return new Reader().read(text);
}

/** The bounds of a quota in the words of the file: `claims 1000`. */
export function boundsOf(quota: Quota): string[] {
  return Object.entries(QUOTA_FIELDS).flatMap(([field, bound]) =>
    quota[bound] === undefined ? [] : [`${field} ${quota[bound]}`],
  );
}

const WORDS: readonly string[] = [...RIGHTS, ...VERB_NAMES];

class Reader {
  readonly #faults: { readonly line: number; readonly sentence: string }[] = [];
  readonly #lines = new LineCounter();

  read(text: string): ReadPolicy {
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    for (const { message, pos } of document.errors)
      this.#faults.push({ line: this.#lines.linePos(pos[0]).line, sentence: message });
    if (this.#faults.length > 0) return this.#refused();
    const top = this.#mapping(document.contents, "the policy", ["rules", "quotas", "labels"]);
    const rules = this.#list("rules", top, (node) => this.#rule(node));
    const quotas = top?.has("quotas") ? this.#list("quotas", top, (node) => this.#quota(node)) : [];
    const labels = top?.has("labels") ? this.#list("labels", top, (node) => this.#labels(node)) : [];
    if (this.#faults.length > 0) return this.#refused();
    return { value: new Policy(rules, quotas, labels) };
  }

  #refused() {
    const sorted = this.#faults.toSorted((a, b) => a.line - b.line);
    return { faults: sorted.map(({ line, sentence }) => `line ${line}: ${sentence}`) };
  }

  #rule(node: unknown): Rule {
    const map = this.#mapping(node, "a rule", ["who", "may", "on"]);
    const words = this.#texts(map, "may", (word, at) => {
      if (WORDS.includes(word)) return word;
      this.#fault(at, `"${word}" is neither a right nor a verb: use ${WORDS.join(", ")}`);
      return undefined;
    });
    return {
      who: this.#who(map),
      may: new Set(words),
      on: this.#texts(map, "on", (name, at) => this.#pattern(name, NAME_BYTES_MAX, "etl/*", at)),
      line: this.#lineOf(node),
    };
  }

  #quota(node: unknown): QuotaRule {
    const fields = Object.keys(QUOTA_FIELDS) as (keyof typeof QUOTA_FIELDS)[];
    const map = this.#mapping(node, "a quota", ["who", ...fields]);
    const bounds: Record<string, number> = {};
    for (const field of fields) {
      const value = map?.get(field, true);
      if (value === undefined) continue;
      const count = isScalar(value) ? value.value : undefined;
      if (typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= QUOTA_MAX)
        bounds[QUOTA_FIELDS[field]] = count;
      else this.#fault(value, `${field} is not a whole number from 0 to ${QUOTA_MAX}`);
    }
    if (map && !fields.some((field) => map.has(field)))
      this.#fault(node, `the quota bounds nothing: set one of ${fields.join(", ")}`);
    return { who: this.#who(map), ...bounds };
  }

  #labels(node: unknown): LabelRule {
    const map = this.#mapping(node, "an entry of labels", ["who", "set"]);
    const set = map ? this.#textsByKey(map.get("set", true), map) : {};
    return { who: this.#who(map), labels: set };
  }

  #textsByKey(node: unknown, parent: YAMLMap): Record<string, string> {
    const found: Record<string, string> = {};
    if (!isMap(node) || node.items.length === 0 || node.items.length > LABELS_MAX) {
      this.#fault(
        node ?? parent,
        `set is not a mapping of 1 to ${LABELS_MAX} labels: write "set: {tenant: acme}"`,
      );
      return found;
    }
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      const bytes = Buffer.byteLength(name);
      const text = isScalar(value) ? value.value : undefined;
      if (bytes < 1 || bytes > LABEL_KEY_BYTES_MAX)
        this.#fault(key, `the key of a label has ${bytes} bytes: use 1 to ${LABEL_KEY_BYTES_MAX}`);
      else if (typeof text !== "string")
        this.#fault(
          value ?? key,
          `the label ${name} is not a text: put it in quotes if it looks like a number`,
        );
      else if (Buffer.byteLength(text) > TEXT_BYTES_MAX)
        this.#fault(value, `the label ${name} is longer than ${TEXT_BYTES_MAX} bytes`);
      else found[name] = text;
    }
    return found;
  }

  #who(map: YAMLMap | undefined): Pattern[] {
    return this.#texts(map, "who", (name, at) => {
      const isKnown = name === "*" || SOURCES.some((source) => name.startsWith(`${source}:`));
      if (!isKnown) {
        const begins = SOURCES.map((source) => `${source}:`).join(", ");
        this.#fault(at, `"${name}" can be nobody: the name of a caller begins with ${begins}`);
        return undefined;
      }
      return this.#pattern(name, TEXT_BYTES_MAX, "token:etl-*", at);
    });
  }

  #pattern(name: string, bytesMax: number, example: string, at: unknown): Pattern | undefined {
    const pattern = parsePattern(name);
    if (!pattern)
      this.#fault(at, `"${name}" has a star before its end: write a prefix and a star, as ${example}`);
    else if (name === "") this.#fault(at, "an empty name matches nothing: write a name, or * for all");
    else if (Buffer.byteLength(name) > bytesMax)
      this.#fault(at, `the name that begins "${name.slice(0, 20)}" is longer than ${bytesMax} bytes`);
    else return pattern;
    return undefined;
  }

  /** A list of texts, or one text by itself. There must be at least one. */
  #texts<Value>(
    map: YAMLMap | undefined,
    field: string,
    read: (text: string, at: unknown) => Value | undefined,
  ): Value[] {
    if (!map) return [];
    const node = map.get(field, true) as unknown;
    const items: readonly unknown[] = isSeq(node) ? node.items : node === undefined ? [] : [node];
    if (items.length === 0) this.#fault(node ?? map, `${field} is missing or empty: name at least one`);
    return items.flatMap((item) => {
      const text = isScalar(item) ? item.value : undefined;
      if (typeof text === "string") return read(text, item) ?? [];
      this.#fault(
        item,
        `${field} has something that is not a text: put names in quotes if they look like numbers`,
      );
      return [];
    });
  }

  #list<Item>(field: string, parent: YAMLMap | undefined, read: (node: unknown) => Item): Item[] {
    if (!parent) return [];
    const node: unknown = parent.get(field, true);
    if (!isSeq(node)) {
      this.#fault(
        node ?? parent,
        `${field} is missing or not a list: write "${field}:" and a line "- who: ..." for each`,
      );
      return [];
    }
    if (node.items.length > RULES_MAX)
      this.#fault(node, `${field} has ${node.items.length} entries; use at most ${RULES_MAX}`);
    return node.items.slice(0, RULES_MAX).map(read);
  }

  #mapping(node: unknown, what: string, fields: readonly string[]): YAMLMap | undefined {
    if (!isMap(node)) {
      this.#fault(node, `${what} is not a mapping: write ${fields.map((field) => `"${field}:"`).join(", ")}`);
      return undefined;
    }
    for (const { key } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      if (!fields.includes(name)) this.#fault(key, `${what} has no "${name}": use ${fields.join(", ")}`);
    }
    return node;
  }

  #fault(at: unknown, sentence: string): void {
    this.#faults.push({ line: this.#lineOf(at), sentence });
  }

  #lineOf(at: unknown): number {
    const range = (at as Node | null | undefined)?.range;
    return range ? this.#lines.linePos(range[0]).line : 1;
  }
}
