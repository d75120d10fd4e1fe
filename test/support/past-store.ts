// A store in memory that has locks with live claims, ended claims and changes, as far as listings read them. Counts its
// reads, and answers as the contract suite of stores demands.

import type { Claim } from "../../server/core/claim.ts";
import type { GuardRow, Lock } from "../../server/core/lock.ts";
import type { ClaimsSource } from "../../server/engine/views/past.ts";
import type {
  ChangePosition,
  EndedPosition,
  KeptChange,
  LockView,
  Store,
} from "../../server/storage/store.ts";
import { CLAIM, FREE_LOCK } from "./claims.ts";

type Reads = ClaimsSource & Pick<Store, "changes">;

export class PastStore implements Reads {
  readonly #ids = new Map<string, bigint>();
  readonly #names = new Map<bigint, string>();
  readonly #claims = new Map<bigint, Claim[]>();
  kept: KeptChange[] = [];
  /** How many claims or changes each read asked for and got, by its name. */
  readonly reads: { readonly of: string; readonly max: number; readonly got: number }[] = [];

  /** Adds a claim of the lock with this name, with the next ticket number. */
  add(name: string, claim: Partial<Claim>): Claim {
    const lockId = this.#ids.get(name) ?? BigInt(this.#ids.size + 1);
    this.#ids.set(name, lockId);
    this.#names.set(lockId, name);
    const claims = this.#of(lockId);
    const added = { ...CLAIM, ...claim, lockId, ticketNumber: BigInt(claims.length + 1) };
    this.#claims.set(lockId, claims);
    claims.push(added);
    return added;
  }

  get claims(): Claim[] {
    return [...this.#claims.values()].flat();
  }

  nameOf(lockId: bigint): string {
    return this.#names.get(lockId) ?? "";
  }

  async view(name: string, shown: number): Promise<LockView | null> {
    const id = this.#ids.get(name);
    return id === undefined ? null : this.#viewOf(id, shown);
  }

  async views(ids: readonly bigint[], shown: number): Promise<LockView[]> {
    return ids.map((id) => this.#viewOf(id, shown));
  }

  async list({ prefix, afterName, max }: Parameters<Store["list"]>[0]) {
    const names = [...this.#ids.keys()].sort();
    const busy = names.filter((name) => name.startsWith(prefix) && (afterName === null || name > afterName));
    const locks = busy
      .map((name): GuardRow => ({ ...this.#lockOf(this.#ids.get(name) ?? 0n), hasRecord: false }))
      .filter(({ holders, waiting }) => holders + waiting > 0)
      .slice(0, max);
    return { locks, next: locks.length === max ? (locks.at(-1)?.name ?? null) : null };
  }

  async liveClaimsOf(lockId: bigint, afterTicket: bigint, max: number): Promise<Claim[]> {
    const found = this.#of(lockId).filter((claim) => claim.state !== "ended");
    return this.#read(
      "live",
      max,
      found.filter(({ ticketNumber }) => ticketNumber > afterTicket),
    );
  }

  async endedClaimsOf(lockId: bigint, belowTicket: bigint | null, max: number): Promise<Claim[]> {
    const found = this.#of(lockId).filter((claim) => claim.state === "ended");
    const below = found.filter(({ ticketNumber }) => belowTicket === null || ticketNumber < belowTicket);
    return this.#read("ended of lock", max, below.reverse());
  }

  async ticketAfter(lockId: bigint, atUs: number): Promise<bigint> {
    const early = this.#of(lockId).filter((claim) => claim.state === "ended" && claim.requestedAtUs <= atUs);
    return (early.at(-1)?.ticketNumber ?? 0n) + 1n;
  }

  async endedClaims(from: EndedPosition | null, max: number) {
    const ended = this.claims
      .filter((claim) => claim.state === "ended")
      .sort((a, b) => compare(keyOf(b), keyOf(a)));
    const found = ended.filter((claim) => from === null || compare(keyOf(claim), positionOf(from)) < 0);
    return this.#read("ended", max, found).map((claim) => ({ claim, lockName: this.nameOf(claim.lockId) }));
  }

  async changes(targets: readonly string[] | null, before: ChangePosition | null, max: number) {
    const found = this.kept
      .filter(({ target }) => targets === null || targets.includes(target))
      .filter((change) => before === null || compare([change.atUs, change.id], [before.atUs, before.id]) < 0)
      .sort((a, b) => compare([b.atUs, b.id], [a.atUs, a.id]));
    return this.#read("changes", max, found);
  }

  #read<Item>(of: string, max: number, found: readonly Item[]): Item[] {
    const got = found.slice(0, max);
    this.reads.push({ of, max, got: got.length });
    return got;
  }

  #of(lockId: bigint): Claim[] {
    return this.#claims.get(lockId) ?? [];
  }

  #lockOf(id: bigint): Lock {
    const held = this.#of(id).filter(({ state }) => state === "held");
    const waiting = this.#of(id).filter(({ state }) => state === "waiting").length;
    return { ...FREE_LOCK, id, name: this.nameOf(id), holders: held.length, waiting };
  }

  #viewOf(id: bigint, shown: number): LockView {
    const of = (state: Claim["state"]) =>
      this.#of(id)
        .filter((claim) => claim.state === state)
        .slice(0, shown);
    return { lock: this.#lockOf(id), holders: of("held"), waiters: of("waiting") };
  }
}

type Ordered = readonly (number | bigint)[];

function keyOf({ endedAtUs, lockId, ticketNumber }: Claim): Ordered {
  return [endedAtUs ?? 0, lockId, ticketNumber];
}

function positionOf({ endedAtUs, lockId, ticketNumber }: EndedPosition): Ordered {
  return [endedAtUs, lockId, ticketNumber];
}

function compare(a: Ordered, b: Ordered): number {
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? 0;
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}
