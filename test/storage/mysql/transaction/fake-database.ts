// A database of a few rows behind a connection, which answers the reads of transactions and records everything sent. Its
// writes change nothing: tests on real databases cover what they do.

import { type Claim, isServerMade, placeOf } from "../../../../server/core/claim.ts";
import type { Clock, DatabaseClock } from "../../../../server/core/database-clock.ts";
import type { LimitRule } from "../../../../server/core/limit.ts";
import type { Lock } from "../../../../server/core/lock.ts";
import type { Connection, Row, Trip } from "../../../../server/storage/mysql/connection/connection.ts";
import { LockCache } from "../../../../server/storage/mysql/lock-cache.ts";
import { RuleCache } from "../../../../server/storage/mysql/meta.ts";
import { transactOn } from "../../../../server/storage/mysql/transaction/transact.ts";
import { CLAIM_ROW_LENGTH, NEVER_DUE_US } from "../../../../server/storage/rows/columns.ts";
import { requestKeyOf } from "../../../../server/storage/rows/request-key.ts";
import { bytesOf } from "../../../../server/storage/rows/values.ts";
import type { DecideRows, LoadPlan } from "../../../../server/storage/store.ts";
import { NO_PLAN } from "../../../support/store-fixture.ts";
import { claimRow, guardRow, keyOf, textOf } from "./lock-fixture.ts";

const OPEN = { affectedRows: 1, serverStatus: 0b11 };
const NO_HOLDER: Row = Array<null>(CLAIM_ROW_LENGTH).fill(null);

/** Known exactly from the first reading on, so that no test depends on timing. */
class SteadyClock implements Pick<DatabaseClock, "read" | "estimate" | "doubt"> {
  #known: Clock | null = null;

  read(nowUs: number): Clock {
    this.#known = { nowUs, atLeastUs: nowUs, jumpedAtUs: null, skippedUs: 0, backAtUs: null };
    return this.#known;
  }

  estimate(): Clock | null {
    return this.#known;
  }

  doubt(): void {
    this.#known = null;
  }
}

export class FakeDatabase {
  nowUs = 5_000_000_000;
  identity: string | null = "it";
  /** rowlock_meta has no row. */
  isEmpty = false;
  rules: LimitRule[] = [];
  readonly locks = new Map<bigint, Lock>();
  /** Each is in the table that belongs to its state: see `#tableOf`. */
  claims: Claim[] = [];
  /** The error of a trip, by the trip's name. */
  readonly failures = new Map<string, Error>();
  /** Rows to answer, by a part of the statement. */
  readonly answers = new Map<string, readonly Row[]>();
  /** Everything that was sent. */
  readonly trips: { readonly name: string; readonly sql: readonly string[] }[] = [];
  readonly outcomes: string[] = [];
  readonly destroyed: unknown[] = [];
  readonly clock = new SteadyClock() as unknown as DatabaseClock;
  readonly cache = new LockCache(this.clock);
  readonly rulesKept = new RuleCache();
  readonly connection = {
    packetMax: Number.POSITIVE_INFINITY,
    alive: true,
    sent: 0,
    setsPatience: false,
    isPatient: null,
    inTransaction: false,
    serverIdentity: "it",
    run: (trip: Trip) => this.#run(trip),
    destroy: (error: unknown) => void this.destroyed.push(error),
  } as unknown as Connection & { alive: boolean; setsPatience: boolean };

  get names(): string[] {
    return this.trips.map(({ name }) => name);
  }

  /** The statements of the last trip of that name. */
  sqlOf(name: string): readonly string[] {
    return this.trips.findLast((trip) => trip.name === name)?.sql ?? [];
  }

  transact(plan: Partial<LoadPlan>, decide: DecideRows): Promise<void> {
    // As if the pool had just lent the connection.
    Object.assign(this.connection, { sent: 0 });
    return transactOn(this.connection, { ...NO_PLAN, ...plan }, decide, {
      rules: this.rulesKept,
      cache: this.cache,
      clock: this.clock,
      observer: {
        statement() {},
        transaction: (seconds, trips, outcome) =>
          void this.outcomes.push(`${outcome} in ${trips} ${seconds >= 0 && seconds < 100}`),
        connection() {},
      },
    });
  }

  async #run(trip: Trip): Promise<unknown[]> {
    this.connection.sent += 1;
    const sql = textOf({ sql: trip.sql, values: trip.values })
      .split("; ")
      .map((each) => each.trim());
    this.trips.push({ name: trip.name, sql });
    const failure = this.failures.get(trip.name);
    if (failure) throw failure;
    return sql.map((each) => this.#answer(each));
  }

  #answer(sql: string): unknown {
    for (const [part, rows] of this.answers) if (sql.includes(part)) return rows;
    if (sql.includes("FROM rowlock_meta m LEFT JOIN")) return this.#rules();
    if (sql.startsWith("SELECT CAST(UNIX_TIMESTAMP"))
      return this.isEmpty ? [] : [[this.nowUs, "7", "3", 10, 20, this.identity && bytesOf(this.identity)]];
    if (sql.startsWith("SELECT l.id")) return this.#guards(sql);
    if (sql.startsWith("(SELECT")) return sql.split(" UNION ALL ").flatMap((each) => this.#claims(each));
    return /^\(?SELECT/.test(sql) ? [] : OPEN;
  }

  #rules(): Row[] {
    if (this.rules.length === 0) return [[null, null, null, null, null, "7"]];
    return this.rules.map(({ prefix, limit, version, reason, changeMark }) => [
      bytesOf(prefix),
      limit,
      `${version}`,
      bytesOf(reason),
      `${changeMark}`,
      "7",
    ]);
  }

  #guards(sql: string): unknown[] {
    const ids = /IN \(([^)]*)\)/.exec(sql)?.[1]?.split(", ") ?? [];
    return ids.flatMap((id) => {
      const lock = this.locks.get(BigInt(id));
      if (!lock) return [];
      const live = this.claims.filter(({ lockId, state }) => lockId === lock.id && state !== "ended");
      const holder = live.find((claim) => this.#tableOf(claim) === "l");
      const nextDeadline =
        live.length === 0 ? null : Math.min(...live.map(({ deadlineUs }) => deadlineUs ?? NEVER_DUE_US));
      return [[...guardRow(lock), nextDeadline, ...(holder ? claimRow(holder) : NO_HOLDER)]];
    });
  }

  /** The rows of one branch of a read. It may contain any of these conditions. */
  #claims(sql: string): unknown[] {
    const table = /SELECT ([lch])\./.exec(sql)?.[1];
    const keys = [
      ...sql.matchAll(
        /\((?:(?:lock_id|l\.id) = )?(\d+)(?:(?: AND place =|,) (\d+)(?= AND|, \d+\)))?(?: AND (?:l\.holder_)?ticket_number =|,) (\d+)\)/g,
      ),
    ];
    const ofLock = /c\.lock_id = (\d+)/.exec(sql)?.[1];
    const ofLocks = /c\.lock_id IN \(([^)]*)\)/.exec(sql)?.[1]?.split(", ");
    const requestIds = /(c\.request_id|r\.request_key) IN \(([^)]*)\)/.exec(sql);
    const dueBy = /c\.deadline <= (\d+)/.exec(sql)?.[1];
    const side = /c\.place (= 0|> 0|= r\.)/.exec(sql)?.[1];
    const max = Number(/LIMIT (\d+)/.exec(sql)?.[1] ?? 1_000);
    const [, part, key] = /, (\d), (NULL|r\.request_key) FROM/.exec(sql) ?? [];
    const isWanted = (claim: Claim) => {
      const { lockId, ticketNumber, requestId, deadlineUs } = claim;
      if (this.#tableOf(claim) !== table) return false;
      if (
        keys.length > 0 &&
        !keys.some(
          ([, id, place = `${placeOf(claim)}`, number]) =>
            `${lockId}.${placeOf(claim)}.${ticketNumber}` === `${id}.${place}.${number}`,
        )
      )
        return false;
      if (ofLock !== undefined && `${lockId}` !== ofLock) return false;
      if (ofLocks && !ofLocks.includes(`${lockId}`)) return false;
      if (requestIds) {
        // A request id that a server made has no row in rowlock_request.
        const byKey = requestIds[1] === "r.request_key";
        if (byKey && isServerMade(requestId)) return false;
        if (!requestIds[2]?.includes(byKey ? keyOf(requestId) : `'${requestId}'`)) return false;
      }
      if (dueBy !== undefined && (deadlineUs === null || deadlineUs > Number(dueBy))) return false;
      return side === undefined || (claim.state === "held") === (side === "= 0");
    };
    return this.claims
      .filter(isWanted)
      .slice(0, max)
      .map((claim) => [
        ...claimRow(claim),
        Number(part),
        key === "NULL" ? null : requestKeyOf(claim.requestId),
      ]);
  }

  /** The alias of the table that has the claim. */
  #tableOf({ state, lockId, ticketNumber }: Claim): "l" | "c" | "h" {
    if (state === "ended") return "h";
    return this.locks.get(lockId)?.firstHolder === ticketNumber ? "l" : "c";
  }
}
