// Records what was really written, below the injected faults: which call's change each transaction commits. Each call
// gives its change a unique name (the reason of a limit, the status of a record), so a change that is written twice
// shows.

import type { Loaded, Store, Writes } from "../../../server/storage/store.ts";
import { wrapped } from "../../support/wrapped-store.ts";

/** What one attempt of a transaction is about to write. */
interface Written {
  readonly names: readonly string[];
  readonly ended: readonly { readonly note: string; readonly ticket: string }[];
}

export class WrittenChanges {
  readonly #breaches: string[];
  readonly #names = new Set<string>();
  readonly #ended = new Map<string, string[]>();

  /** @param breaches receives each breach of a promise, in words. */
  constructor(breaches: string[]) {
    this.#breaches = breaches;
  }

  /** Whether a committed transaction had the change of this name as the last one of its kind. */
  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** The tickets that a forced release with this reason ended. */
  endedBy(reason: string): readonly string[] {
    return this.#ended.get(reason) ?? [];
  }

  /** Wraps the store and records what it commits. */
  over(store: Store): Store {
    const transact: Store["transact"] = async (plan, decide) => {
      const written: Written[] = [];
      await store.transact(plan, (loaded) => {
        const before = marksOf(loaded);
        const writes = decide(loaded);
        written.push(writtenBy(before, writes));
        return writes;
      });
      this.#committed(written);
    };
    return wrapped(store, { transact });
  }

  #committed(rounds: readonly Written[]): void {
    const here = new Map<string, string[]>();
    for (const { names, ended } of rounds) {
      for (const name of names) {
        if (this.#names.has(name)) this.#breaches.push(`the change ${name} was written twice`);
        this.#names.add(name);
      }
      for (const { note, ticket } of ended) here.set(note, [...(here.get(note) ?? []), ticket]);
    }
    for (const [note, tickets] of here) {
      const before = this.#ended.get(note);
      if (before) this.#breaches.push(`${note} has ended ${before} and then ${tickets}`);
      this.#ended.set(note, tickets);
    }
  }
}

type Marks = ReadonlyMap<bigint, { readonly limit: string; readonly status: string | undefined }>;

function marksOf({ locks }: Loaded): Marks {
  return new Map(
    [...locks.values()].map(({ id, limitReason, record }) => [
      id,
      { limit: limitReason, status: record?.status },
    ]),
  );
}

function writtenBy(before: Marks, { locks, added, changed, rule }: Writes): Written {
  const names = locks.flatMap(({ id, limitReason, record }) => {
    const old = before.get(id);
    return [
      ...(limitReason !== old?.limit ? [limitReason] : []),
      ...(record && record.status !== old?.status ? [record.status] : []),
    ];
  });
  const ended = [...added, ...changed].flatMap(({ lockId, ticketNumber, endReason, endNote }) =>
    endReason === "force_released" ? [{ note: endNote, ticket: `${lockId}.${ticketNumber}` }] : [],
  );
  return { names: [...names, ...(rule ? [rule.reason] : [])].filter((name) => name !== ""), ended };
}
