// Files that are read again while the server runs: certificates, keys, tokens, a policy. A change counts when two looks
// in a row have found it, so that a file that is being written, or half of a pair, is not taken for the new one; SIGHUP
// makes it count at once. Content is compared instead of times, and nothing relies on notices of the file system:
// Kubernetes swaps a link above the files. Files that cannot be used change nothing, and that is reported once.

import { readFile } from "node:fs/promises";
import type { ReadFile } from "./sources.ts";
import { textOf } from "./text-file.ts";

/** What files say, or everything that is wrong with them, each a sentence for an operator. */
export type Read<Value> = { readonly value: Value } | { readonly faults: readonly string[] };

/** Files that belong together, such as a certificate and its key: all of them are in force, or none. */
export interface Reloadable<Value> {
  /** A stable word for metrics and the log, such as `certificate`. */
  readonly what: string;
  readonly paths: readonly string[];
  /** Checks the files, at the start and with each change; while it finds faults, with each look. */
  readonly load: (read: ReadFile) => Read<Value>;
  /** What holds while the files have never been usable, as a line of the log; unset: what was in force stays. */
  readonly ifNever?: string;
}

/** Reported when it changes. `first`: in force since the first look; `new`: since a later one; `failed`: not in force. */
export type FilesOutcome =
  | { readonly kind: "first" | "new"; readonly what: string }
  | {
      readonly kind: "failed";
      readonly what: string;
      readonly faults: readonly string[];
      /** What holds now, as a line of the log. */
      readonly holds: string;
    };

export const STAYS = "files cannot be used, so what was in force stays";

export interface ReloadedFilesOptions {
  readonly onOutcome: (outcome: FilesOutcome) => void;
  readonly readFile?: (path: string) => Promise<string>;
  readonly intervalMs?: number;
  readonly readMsMax?: number;
}

const LOOK_EVERY_MS = 300;
/** Longest wait for a file: one on a network may never answer. */
const READ_MS_MAX = 5_000;

type Found = { readonly text: string } | { readonly error: unknown };

interface Entry {
  readonly group: Reloadable<unknown>;
  readonly onNew: (value: unknown, texts: readonly string[]) => void;
  /** As the last look found the files. */
  found?: readonly Found[];
  /** As they were last checked. */
  checked?: readonly Found[];
  wasUsable: boolean;
  /** The faults that were reported last; empty: there are none. */
  faults: readonly string[];
}

export class ReloadedFiles {
  readonly #options: Required<ReloadedFilesOptions>;
  readonly #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** The look under way, or the last one. */
  #look: Promise<void> = Promise.resolve();
  #isLooking = false;
  /** The look that `reload` has asked for and that has not begun. */
  #asked: Promise<void> | undefined;
  #isStopped = false;
  /** A read has not ended in time. */
  #isHanging = false;

  constructor(options: ReloadedFilesOptions) {
    this.#options = {
      readFile: async (path) => textOf(await readFile(path)),
      intervalMs: LOOK_EVERY_MS,
      readMsMax: READ_MS_MAX,
      ...options,
    };
  }

  get names(): readonly string[] {
    return this.#entries.map(({ group }) => group.what);
  }

  /**
   * Call it before `start`. `onNew` puts the value in force: at the first look, at each change, and also if the files say
   * again what they said before. `texts`: of the files, in the order of their paths. null: there are no files.
   */
  add<Value>(group: Reloadable<Value> | null, onNew: (value: Value, texts: readonly string[]) => void): void {
    if (!group) return;
    // It only ever gets the values of these files.
    this.#entries.push({ group, onNew: onNew as Entry["onNew"], wasUsable: false, faults: [] });
  }

  /** Takes the first look, and goes on looking. Never rejects. */
  async start(): Promise<void> {
    if (this.#entries.length === 0) return;
    await this.reload();
    if (this.#isStopped) return;
    this.#timer = setInterval(() => {
      if (!this.#isLooking && !this.#asked) void this.#begin(false);
    }, this.#options.intervalMs);
  }

  /** Looks now. What has changed counts at once, and faults are reported again. Never rejects. */
  reload(): Promise<void> {
    this.#asked ??= this.#look.then(() => {
      this.#asked = undefined;
      return this.#begin(true);
    });
    return this.#asked;
  }

  /** From now on, nothing comes into force. Can be called twice. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  #begin(isAsked: boolean): Promise<void> {
    this.#look = this.#lookAtAll(isAsked);
    return this.#look;
  }

  async #lookAtAll(isAsked: boolean): Promise<void> {
    this.#isLooking = true;
    for (const entry of this.#entries) if (!this.#isStopped) await this.#lookAt(entry, isAsked);
    this.#isLooking = false;
  }

  async #lookAt(entry: Entry, isAsked: boolean): Promise<void> {
    const { group, found: before, checked } = entry;
    const found: Found[] = [];
    for (const path of group.paths) found.push(await this.#read(path));
    if (this.#isStopped) return;
    entry.found = found;
    const isSettled = isAsked || same(found, before);
    const isDue = !same(found, checked) || entry.faults.length > 0;
    if (!isSettled || !isDue) return;
    const faults = putInForce(entry, found);
    const isKnown = faults.length > 0 && faults.join() === entry.faults.join();
    entry.checked = found;
    entry.faults = faults;
    entry.wasUsable ||= faults.length === 0;
    if (isKnown && !isAsked) return;
    const { what, ifNever = STAYS } = group;
    const holds = entry.wasUsable ? STAYS : ifNever;
    this.#options.onOutcome(
      faults.length > 0 ? { kind: "failed", what, faults, holds } : { kind: checked ? "new" : "first", what },
    );
  }

  /** None is read while a read hangs: that one occupies one of the few threads that Node has for files and for DNS. */
  async #read(path: string): Promise<Found> {
    const { readFile, readMsMax } = this.#options;
    const late: Found = { error: new Error(`no answer within ${readMsMax} ms`) };
    if (this.#isHanging) return late;
    const timeOver = Promise.withResolvers<Found>();
    const timer = setTimeout(() => timeOver.resolve(late), readMsMax);
    const reading = readFile(path).then(
      (text): Found => ({ text }),
      (error: unknown): Found => ({ error }),
    );
    const found = await Promise.race([reading, timeOver.promise]);
    clearTimeout(timer);
    if (found === late) {
      this.#isHanging = true;
      void reading.then(() => {
        this.#isHanging = false;
      });
    }
    return found;
  }
}

/** Returns the faults that keep the files from coming into force; none: they are in force. */
function putInForce({ group, onNew }: Entry, found: readonly Found[]): readonly string[] {
  const { what, paths, load } = group;
  try {
    const loaded = load((path) => {
      const file = found[paths.indexOf(path)];
      if (!file) throw new Error(`${path} is not among the files of ${what}`);
      if ("error" in file) throw file.error;
      return file.text;
    });
    if ("faults" in loaded) return loaded.faults;
    onNew(
      loaded.value,
      found.map((file) => ("text" in file ? file.text : "")),
    );
    return [];
  } catch (error) {
    // The check has a bug, or does not expect such content. The server goes on with what it has.
    return [`They cannot be used: ${error instanceof Error ? error.message : String(error)}.`];
  }
}

function same(found: readonly Found[], others: readonly Found[] | undefined): boolean {
  return found.every((file, index) => contentOf(file) === contentOf(others?.[index]));
}

/** Errors of the same kind are the same content. */
function contentOf(file: Found | undefined): string | undefined {
  return file && ("text" in file ? `text ${file.text}` : `error ${String(file.error)}`);
}
