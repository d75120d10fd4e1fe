// Looks at one of several servers of a database, over a connection of its own that is kept between looks. Writes
// nothing: what it sees decides where the pool's connections lead.

import { type MysqlAddress, placeText } from "../../database-url.ts";
import { bigintOf, textOf } from "../../rows/from-rows.ts";
import { CATCH_UP_MS_MAX, REFUSED_AGAIN_MS } from "../../storage-bounds.ts";
import { StoreError, type StoreObserver } from "../../store.ts";
import { type Reached, reach } from "./connect.ts";
import { type Connection, query, runCaughtUp, Trip } from "./connection.ts";
import { askWhetherUsable, type Usability, usabilityOf } from "./usable-server.ts";

const ROWS = `SELECT epoch, server_identity, (SELECT MAX(deadline) FROM rowlock_replica)
  FROM rowlock_meta WHERE id = 1`;
/** Any read that waits until the node has applied what its cluster had committed before. */
const ANY_ROW = "SELECT id FROM rowlock_meta WHERE id = 1";

/** Refusals that pass only when somebody corrects something; each further attempt may count against the account. */
const LASTING = ["access_denied", "tls", "no_database"];

export interface Sight {
  /** Why the server cannot be used; null: it can be. */
  readonly refusal: StoreError | null;
  /** null: it was not reached. */
  readonly product: string | null;
  readonly identity: string | null;
  readonly isSynced: boolean;
  /** null: there are none yet, or they cannot be read. */
  readonly rows: SeenRows | null;
}

export interface SeenRows {
  readonly epoch: bigint;
  readonly isOwn: boolean;
  /** The latest deadline in the register of replicas, which rises every few seconds; null: nobody is registered. */
  readonly registeredUs: number | null;
}

export class Lookout {
  /** As the URL writes it. */
  readonly place: string;
  readonly address: MysqlAddress;
  /** The last sight; null: nobody has looked yet. */
  sight: Sight | null = null;
  /** performance.now() since when it has been usable and synced at each look; null: it was not at the last one. */
  fitSinceMs: number | null = null;
  readonly #observer: StoreObserver;
  #kept: Reached | null = null;
  #looking: Promise<Sight> | undefined;
  /** What uses the connection last. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(address: MysqlAddress, observer: StoreObserver) {
    this.place = placeText(address);
    this.address = address;
    this.#observer = observer;
  }

  /** Never rejects: what goes wrong is the refusal. Callers at the same time share one look. */
  async look(withinMs: number): Promise<Sight> {
    const isRefused = LASTING.includes(this.sight?.refusal?.reason ?? "");
    if (isRefused && performance.now() - this.#lookedMs < REFUSED_AGAIN_MS) return this.sight as Sight;
    this.#looking ??= this.#inTurn(() => this.#look(withinMs)).finally(() => {
      this.#looking = undefined;
    });
    return await this.#looking;
  }

  /** Waits, within a bound, until a node of Galera has applied what the others committed before. */
  catchUp(): Promise<void> {
    return this.#inTurn(async () => {
      const connection = this.#kept?.connection;
      if (!connection?.alive || !connection.mayLag) return;
      const trip = new Trip("look_caught_up");
      trip.addCaughtUp(connection, ANY_ROW);
      const untilMs = performance.now() + CATCH_UP_MS_MAX;
      await within(untilMs, connection, () => runCaughtUp(connection, trip)).catch((error: unknown) => {
        // The node is used all the same: what it has not applied yet makes decisions conflict, not go wrong.
        if (!(error instanceof StoreError)) throw error;
      });
    });
  }

  /** A connection has one trip at a time. */
  #inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#kept?.connection.end();
  }

  async #look(withinMs: number): Promise<Sight> {
    const untilMs = performance.now() + withinMs;
    const sight = await this.#ask(untilMs).catch(refused);
    this.sight = sight;
    this.#lookedMs = performance.now();
    if (sight.refusal !== null || !sight.isSynced) this.fitSinceMs = null;
    else this.fitSinceMs ??= this.#lookedMs;
    return sight;
  }

  async #ask(untilMs: number): Promise<Sight> {
    const kept = this.#kept;
    if (kept?.connection.alive) {
      try {
        const usability = await within(untilMs, kept.connection, askAgain);
        // Its identity follows from this; a new connection finds it out.
        if (usability.cluster === kept.usability.cluster)
          return await this.#sightOf(kept, usability, untilMs);
      } catch (error) {
        // The server has closed the connection since the last look, so this says nothing about the server.
        if (!(error instanceof StoreError) || error.reason !== "connection_lost") throw error;
      }
      kept.connection.destroy(new Error("The connection is replaced."));
    }
    this.#kept = await reach(this.address, this.#observer, Math.max(1, untilMs - performance.now()));
    return await this.#sightOf(this.#kept, this.#kept.usability, untilMs);
  }

  async #sightOf({ connection, server }: Reached, usability: Usability, untilMs: number): Promise<Sight> {
    const { refusal, isSynced } = usability;
    const rows = await within(untilMs, connection, readRows).catch((error: unknown) => {
      // Without a schema there are no rows. A server that cannot be used may not even read.
      if (error instanceof StoreError && (refusal !== null || error.reason === "schema")) return null;
      throw error;
    });
    return { refusal, product: server.product, identity: server.identity, isSynced, rows };
  }
}

async function askAgain(connection: Connection): Promise<Usability> {
  const trip = new Trip("look");
  const at = askWhetherUsable(trip);
  return await usabilityOf(connection, await connection.run(trip), at);
}

async function readRows(connection: Connection): Promise<SeenRows | null> {
  const [row] = await query(connection, "look_rows", ROWS);
  if (row === undefined) return null;
  return {
    epoch: bigintOf(row[0]),
    isOwn: row[1] !== null && textOf(row[1]) === connection.serverIdentity,
    registeredUs: row[2] === null ? null : Number(row[2]),
  };
}

/** Runs `work` on the connection, which is destroyed if that takes longer. */
function within<Answer>(
  untilMs: number,
  connection: Connection,
  work: (connection: Connection) => Promise<Answer>,
): Promise<Answer> {
  connection.begin(Math.max(1, untilMs - performance.now()));
  return work(connection).finally(() => connection.finish());
}

function refused(error: unknown): Sight {
  const message = "A look at the database server failed.";
  const isKnown = error instanceof StoreError;
  const refusal = isKnown ? error : new StoreError("unavailable", "unexpected", message, { cause: error });
  return { refusal, product: null, identity: null, isSynced: false, rows: null };
}
