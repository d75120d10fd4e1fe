// Where settings are written: a file of NAME=value lines, the environment, the flags. Finds unknown names, so that a
// slip of the pen is an error and not a setting that silently does nothing. The value of a secret setting may be in a
// file of its own. Does not look at values.

import { parseEnv } from "node:util";
import { SHELL_NAMES } from "../../clients/shell/context.ts";
import { Refusal } from "./setting-kinds.ts";
import { CONFIG_NAME, FILE_FORMS, flagOf, namesOf, PREFIX, SETTINGS } from "./settings.ts";

export interface SourcesInput {
  /** As written, keyed by the setting's name: `{ ROWLOCK_LISTEN: "127.0.0.1:0" }`. */
  readonly argvFlags: Values;
  readonly env: Values;
  readonly readFile: ReadFile;
}

/** Returns the text of a file, or throws. */
export type ReadFile = (path: string) => string;

type Values = Readonly<Record<string, string | undefined>>;

export interface Written {
  /** null: it could not be read, which is a fault. */
  readonly text: string | null;
  /** Where it was written: `environment`, `flag --listen`, or the file. */
  readonly where: string;
}

/** The prefix of names for the project's own tests; a server ignores these. */
const TEST_PREFIX = `${PREFIX}TEST_`;

/** What Kubernetes sets in every container beside a service whose name begins with `rowlock`, as ROWLOCK_PORT=tcp://... */
const KUBERNETES_NAME =
  /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const KUBERNETES_URL = /^(tcp|udp|sctp):\/\//;

/** A name counts as a misspelt setting if at most one letter in this many is wrong. */
const LETTERS_PER_SLIP = 3;

/** Returns what takes effect, by the names of settings: file < environment < flag. Adds a fault for each unknown name. */
export function readSources(input: SourcesInput, faults: string[]): Map<string, Written> {
  const { argvFlags, env, readFile } = input;
  const written = new Map<string, Written>();
  const take = (values: Values, where: (name: string) => string) => {
    for (const name of KNOWN_NAMES) {
      const text = values[name];
      // Compose files and shells pass on unset variables as empty, so empty means unset.
      if (text !== undefined && text !== "") written.set(name, { text, where: where(name) });
    }
  };
  const path = argvFlags[CONFIG_NAME] ?? env[CONFIG_NAME] ?? "";
  if (path !== "") {
    const values = valuesOf(path, readFile, faults);
    for (const name of Object.keys(values)) {
      if (name === CONFIG_NAME)
        faults.push(`${CONFIG_NAME} (${path}): a file cannot name a file; leave it out.`);
      else if (!KNOWN_NAMES.has(name)) faults.push(unknown(name, path));
    }
    take(values, () => path);
  }
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || !name.startsWith(PREFIX) || name === CONFIG_NAME) continue;
    if (!KNOWN_NAMES.has(name) && !isForeign(name, value)) faults.push(unknown(name, "environment"));
  }
  take(env, () => "environment");
  take(argvFlags, (name) => `flag --${flagOf(name)}`);
  for (const [name, fileForm] of FILE_FORMS) {
    const named = written.get(fileForm);
    if (!named?.text) continue;
    const direct = written.get(name);
    if (direct)
      faults.push(
        `${name} (${direct.where}) and ${fileForm} (${named.where}) are both set: leave out one of them.`,
      );
    const secret = readSecret(fileForm, named.text, `the value of ${name}`, readFile);
    if (secret instanceof Refusal) faults.push(secret.message);
    written.set(name, { text: secret instanceof Refusal ? null : secret, where: named.text });
  }
  return written;
}

/** The secret in the file that the setting `name` names; a Refusal says in a sentence why there is none. */
export function readSecret(name: string, path: string, what: string, readFile: ReadFile): string | Refusal {
  const text = readNamed(name, path, readFile);
  if (text instanceof Refusal) return text;
  // Editors and `echo` end a file with a newline. It is not part of the secret.
  const secret = text.replace(/\r?\n$/, "");
  return secret === "" ? new Refusal(`${name} is "${path}", which is empty: put ${what} there.`) : secret;
}

/** The text of the file that a setting names; a Refusal says in a sentence why there is none. */
export function readNamed(
  name: string,
  path: string,
  readFile: ReadFile,
  advice = "name a file that this user may read",
): string | Refusal {
  try {
    return readFile(path);
  } catch (error) {
    return new Refusal(`${name} is "${path}", which cannot be read (${reasonOf(error)}): ${advice}.`);
  }
}

function valuesOf(path: string, readFile: ReadFile, faults: string[]): Values {
  const text = readNamed(CONFIG_NAME, path, readFile, "name a readable file of NAME=value lines");
  if (text instanceof Refusal) {
    faults.push(text.message);
    return {};
  }
  // parseEnv skips lines that it does not understand; here each such line is a fault.
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || /^\s*(export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=/.test(line)) continue;
    faults.push(
      `Line ${index + 1} of ${path} is not NAME=value: correct it, or begin it with # to leave it out.`,
    );
  }
  return parseEnv(text);
}

function unknown(name: string, where: string): string {
  const nearest = nearestName(name);
  const advice = nearest
    ? `did you mean ${nearest}?`
    : "leave it out; `rowlock serve --help` lists all settings.";
  return `${name} (${where}) is not a setting: ${advice}`;
}

/** Why a file could not be read, without the path, which the fault already names. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.message : String(error);
}

const KNOWN_NAMES: ReadonlySet<string> = new Set(namesOf(Object.keys(SETTINGS)));

function isForeign(name: string, value: string): boolean {
  return (
    name.startsWith(TEST_PREFIX) ||
    SHELL_NAMES.includes(name) ||
    KUBERNETES_NAME.test(name) ||
    (name.endsWith("_PORT") && KUBERNETES_URL.test(value))
  );
}

/** undefined: none is near. All names share the prefix, so the distance is measured without it. */
function nearestName(name: string): string | undefined {
  const meant = withoutPrefix(name.toUpperCase());
  const near = [...KNOWN_NAMES].flatMap((known) => {
    const ours = withoutPrefix(known);
    const distance = editDistance(meant, ours);
    const slipMax = Math.ceil(Math.max(meant.length, ours.length) / LETTERS_PER_SLIP);
    return distance <= slipMax ? [{ known, distance }] : [];
  });
  return near.sort((a, b) => a.distance - b.distance)[0]?.known;
}

function withoutPrefix(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}

/** How many letters to insert, delete or replace to turn one name into the other. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
