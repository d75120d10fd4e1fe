// The folders above the paths that an agent holds or waits for. It reads each once, whatever it does below it, from the root down: so
// a wait for one path keeps nobody from its neighbours, and whoever wants a folder alone waits for all work below it.

import type { Refusal, RowlockClient } from "../typescript/src/index.ts";
import { foldersAbove } from "./agent-paths.ts";

type Answer = Awaited<ReturnType<RowlockClient["acquire"]>>;

interface Folder {
  readonly answer: Promise<Answer>;
  readonly stop: AbortController;
  readonly whenLost: Set<() => void>;
  users: number;
}

export class AgentFolders {
  /** Waits for a folder as a reader. */
  readonly #read: (folder: string, signal: AbortSignal) => Promise<Answer>;
  readonly #folders = new Map<string, Folder>();

  constructor(read: (folder: string, signal: AbortSignal) => Promise<Answer>) {
    this.#read = read;
  }

  /** Reads all folders above a path. `signal` ends the wait for them. Returns why one was refused; null: it has them all. */
  async take(path: string, signal: AbortSignal): Promise<Refusal | null> {
    const taken: string[] = [];
    try {
      for (const name of foldersAbove(path)) {
        const folder = this.#folders.get(name) ?? this.#begin(name);
        folder.users += 1;
        taken.push(name);
        const { lock, refusal } = await orStopped(folder.answer, signal);
        if (lock) continue;
        await this.#give(taken);
        return refusal;
      }
      return null;
    } catch (error) {
      await this.#give(taken);
      throw error;
    }
  }

  /** Gives back what only this path needed. */
  async give(path: string): Promise<void> {
    await this.#give(foldersAbove(path));
  }

  /** Calls back when one of the folders above a path, which it has, is lost. */
  onLost(path: string, lost: () => void): void {
    for (const name of foldersAbove(path)) this.#folders.get(name)?.whenLost.add(lost);
  }

  /** Gives all back. */
  async end(): Promise<void> {
    for (const folder of this.#folders.values()) folder.users = 1;
    await this.#give([...this.#folders.keys()]);
  }

  #begin(name: string): Folder {
    const stop = new AbortController();
    const folder: Folder = { answer: this.#read(name, stop.signal), stop, whenLost: new Set(), users: 0 };
    this.#folders.set(name, folder);
    // Of a folder that is refused or lost, the next path asks anew.
    const forget = () => {
      if (this.#folders.get(name) === folder) this.#folders.delete(name);
      for (const lost of folder.whenLost) lost();
    };
    folder.answer.then(
      ({ lock }) => (lock ? lock.signal.addEventListener("abort", forget) : forget()),
      forget,
    );
    return folder;
  }

  async #give(names: readonly string[]): Promise<void> {
    for (const name of names.toReversed()) {
      const folder = this.#folders.get(name);
      if (!folder) continue;
      folder.users -= 1;
      if (folder.users > 0) continue;
      this.#folders.delete(name);
      folder.stop.abort();
      const { lock } = await folder.answer.catch(() => ({ lock: undefined }));
      await lock?.release().catch(() => {});
    }
  }
}

function orStopped<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  return Promise.race([promise, stopped.promise]).finally(() => signal.removeEventListener("abort", stop));
}
