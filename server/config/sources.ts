// Where settings are written: a file of NAME=value lines, the environment, the flags. Finds unknown names, so that a
// slip of the pen is an error and not a setting that silently does nothing. Does not look at values.

import { parseEnv } from "node:util";
import { CONFIG_NAME, PREFIX, SETTINGS } from "./settings.ts";
import { SHELL_NAMES } from "./shell-names.ts";

export interface Source {
  /** How faults name this source. */
  readonly where: string;
  readonly values: Readonly<Record<string, string | undefined>>;
  /** Whether every name in it must be a setting; the environment also has the names of other programs. */
  readonly exclusive: boolean;
}

/** The prefix of names for the project's own tests; a server ignores these. */
const TEST_PREFIX = `${PREFIX}TEST_`;

/**
 * Kubernetes sets these in every container beside a service whose name begins with `rowlock`: ROWLOCK_SERVICE_HOST,
 * ROWLOCK_PORT=tcp://..., ROWLOCK_PORT_50051_TCP_ADDR, ROWLOCK_MYSQL_SERVICE_PORT and so on.
 */
const KUBERNETES_NAME =
  /_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const KUBERNETES_URL = /^(tcp|udp|sctp):\/\//;

/** A name counts as a misspelt setting if at most one letter in this many is wrong. */
const LETTERS_PER_SLIP = 3;

/** The environment or the flags. */
export function sourceOf(values: Source["values"], where: string): Source {
  return { where, values, exclusive: false };
}

/** A file of NAME=value lines. If it cannot be read, this adds a fault and returns an empty source. */
export function fileSource(path: string, readFile: (path: string) => string, faults: string[]): Source {
  let text = "";
  try {
    text = readFile(path);
  } catch (error) {
    faults.push(
      `${CONFIG_NAME} is "${path}", which cannot be read (${reasonOf(error)}): name a readable file of NAME=value lines.`,
    );
  }
  // parseEnv skips lines that it does not understand; here each such line is a fault.
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#.*)?$/.test(line) || /^\s*(export\s+)?[A-Za-z_][A-Za-z0-9_]*\s*=/.test(line)) continue;
    faults.push(
      `Line ${index + 1} of ${path} is not NAME=value: correct it, or begin it with # to leave it out.`,
    );
  }
  return { where: path, values: parseEnv(text), exclusive: true };
}

/** Returns a fault for each name that is no setting, with the nearest setting if one is near. */
export function sourceFaults(source: Source): string[] {
  const faults: string[] = [];
  const known = knownNames();
  for (const [name, value] of Object.entries(source.values)) {
    if (known.has(name) || value === undefined) continue;
    if (name === CONFIG_NAME) {
      if (source.exclusive)
        faults.push(`${CONFIG_NAME} (${source.where}): a file cannot name a file; leave it out.`);
      continue;
    }
    const ours = source.exclusive || (name.startsWith(PREFIX) && !isForeign(name, value));
    if (!ours) continue;
    const nearest = nearestName(name, known);
    const advice = nearest
      ? `did you mean ${nearest}?`
      : "leave it out; `rowlock serve --help` lists all settings.";
    faults.push(`${name} (${source.where}) is not a setting: ${advice}`);
  }
  return faults;
}

/** The names of all settings. */
export function knownNames(): ReadonlySet<string> {
  return KNOWN_NAMES;
}

/** Why a file could not be read, without the path, which the fault already names. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && "code" in error) return String(error.code);
  return error instanceof Error ? error.message : String(error);
}

const KNOWN_NAMES: ReadonlySet<string> = new Set(Object.values(SETTINGS).map((setting) => setting.name));

function isForeign(name: string, value: string): boolean {
  return (
    name.startsWith(TEST_PREFIX) ||
    SHELL_NAMES.includes(name) ||
    KUBERNETES_NAME.test(name) ||
    (name.endsWith("_PORT") && KUBERNETES_URL.test(value))
  );
}

/** null: none is near. All names share the prefix, so the distance is measured without it. */
function nearestName(name: string, known: ReadonlySet<string>): string | null {
  const meant = withoutPrefix(name.toUpperCase());
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const ours = withoutPrefix(candidate);
    const distance = editDistance(meant, ours);
    const slipMax = Math.ceil(Math.max(meant.length, ours.length) / LETTERS_PER_SLIP);
    if (distance <= slipMax && distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
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
