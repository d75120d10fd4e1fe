// One Rowlock server without its network: everything below grpc-js and the poke channels is the product's own.

import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create, fromBinary } from "@bufbuild/protobuf";
import { NOBODY, OPEN_GATE } from "../../../server/access/access.ts";
import { Usage } from "../../../server/access/usage.ts";
import type { ClaimKey } from "../../../server/core/claim.ts";
import type { Policy } from "../../../server/core/rows.ts";
import { Engine } from "../../../server/engine/engine.ts";
import { SharedAdmission } from "../../../server/grpc/admission.ts";
import type { Answer } from "../../../server/grpc/call.ts";
import {
  type CarriedCall,
  ConnectionCalls,
  type Ended,
  perform,
  type Served,
} from "../../../server/grpc/call-frame.ts";
import { FaultLog } from "../../../server/grpc/call-observer.ts";
import type { Failure } from "../../../server/grpc/messages/status.ts";
import { PlaceTurns } from "../../../server/grpc/methods/wait-in-queue.ts";
import { OpenWaits } from "../../../server/grpc/open-waits.ts";
import { Sessions } from "../../../server/grpc/session/sessions.ts";
import { ROWS } from "../../../server/grpc/verbs.ts";
import { type Store, StoreError } from "../../../server/storage/store.ts";
import type { SimDatabase } from "../store/database.ts";
import { type Planted, simStore } from "../store/sim-store.ts";
import { Process } from "../world/world.ts";

const POLL_MS = 100;
const GRACE_US = 2_000_000;
/** Names of locks whose ended claims are hardly kept, and which are deleted when they are idle. */
export const BRIEF = "brief/";
const KEPT_US = 3_600_000_000;

export const POLICY: Policy = {
  graceUs: GRACE_US,
  attachedForUs: GRACE_US * 1.25,
  keptForUs: (name) => (name.startsWith(BRIEF) ? 1_000_000 : KEPT_US),
  queueMax: 20,
};

const CLEANING = {
  idleLockUs: 1_500_000,
  // Only calls on brief locks may be forgotten while their callers still repeat them.
  retentionUs: KEPT_US,
  historyRowsMax: 1_000_000,
  changesUs: KEPT_US,
  keptBy: "simulation",
};

const ROOM = {
  waits: 1_000,
  principalWaits: 1_000,
  sessions: 1_000,
  connections: 1_000,
  isShort: () => false,
};
const quiet = {
  call() {},
  streamOpened() {},
  streamClosed() {},
  sessionClosed() {},
  sessionMessage() {},
  poke() {},
};

export interface ServerOptions {
  readonly database: SimDatabase;
  readonly name: string;
  readonly poke: (from: SimServer, replica: bigint, claims: readonly ClaimKey[]) => void;
  readonly onBug: (what: string) => void;
  readonly planted: Planted;
  /** Whether it reads what other servers have granted; false only to plant a fault. */
  readonly failOverPauseUs: number | null;
}

export class SimServer {
  readonly process: Process;
  readonly engine: Engine;
  readonly replica: bigint;
  readonly store: Store;
  readonly sessions: Sessions;
  readonly #served: Served;
  readonly #openWaits: OpenWaits;
  #started: Promise<void> | undefined;
  /** Whether it answers calls. */
  isServing = false;

  constructor(options: ServerOptions) {
    const { database, name, poke, onBug } = options;
    this.process = new Process(name, database.world.seed);
    this.store = simStore(database, this.process, options.planted);
    this.replica = BigInt(1 + Math.floor(this.process.chance() * 2 ** 40));
    const bug = (error: unknown) => {
      if (!isExpected(error)) onBug(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
    };
    this.engine = new Engine({
      store: this.store,
      pollIntervalMs: POLL_MS,
      poke: ({ replica, lockId, ticketNumber }) => poke(this, replica, [{ lockId, ticketNumber }]),
      observers: [
        (event) => {
          if (event.kind === "loop_failed") bug(event.error);
          database.world.note(() => (event.kind === "failed_over" ? "notices a fail-over" : event.kind));
        },
      ],
      policy: POLICY,
      replica: { id: this.replica, address: name, version: "test", secret: "" },
      lanes: this.store.lanes,
      commandsQueuedMax: 10_000,
      cleaning: CLEANING,
      failOverPauseUs: options.failOverPauseUs,
    });
    const logged = (_: object, message: string) => void message;
    const logger = {
      debug: logged,
      info: logged,
      warn: logged,
      error: (fields: object) => bug((fields as { err?: unknown }).err),
    };
    const methods = { engine: this.engine, turns: new PlaceTurns(), graceUs: GRACE_US };
    const admission = new SharedAdmission();
    const usage = new Usage();
    this.#openWaits = new OpenWaits(1_000, ROOM);
    const frame = { observer: quiet, faultLog: new FaultLog(logger), tracer: undefined };
    this.#served = {
      ...frame,
      methods,
      gate: OPEN_GATE,
      connections: new ConnectionCalls(2_000, admission, this.#openWaits, usage),
    };
    const bounds = { waitsMax: 1_000, commandsMax: 1_000, messageBytesMax: 65_536 };
    const shared = { ...frame, methods, admission, openWaits: this.#openWaits, gate: OPEN_GATE, usage };
    this.sessions = new Sessions({ ...shared, ...bounds, replica: String(this.replica) }, ROOM);
  }

  /** Starts, and tries again for as long as the database is away. */
  async start(): Promise<void> {
    for (;;) {
      try {
        this.#started = this.engine.start();
        await this.#started;
        this.isServing = true;
        return;
      } catch (error) {
        if (!isExpected(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    }
  }

  /** As at SIGTERM: sends clients elsewhere, finishes, and stops. */
  async drain(): Promise<void> {
    this.sessions.drain();
    this.#openWaits.drain();
    await new Promise((resolve) => setTimeout(resolve, 50));
    this.isServing = false;
    await this.engine.stop().catch((error: unknown) => {
      if (!isExpected(error)) throw error;
    });
  }

  /** The method of a call of its own. Never rejects. `send`: for a stream, which answers with null at its end. */
  async call(
    method: string,
    message: Message,
    carried: CarriedCall,
    send: (message: Message, written?: () => void) => void,
  ): Promise<{ readonly failure: Failure } | { readonly answer: Message | null }> {
    const verb = ROWS[method];
    if (!verb) throw new Error(`There is no method ${method}.`);
    const { promise, resolve } = Promise.withResolvers<Ended<Message | null>>();
    perform(this.#served, verb, {
      call: carried,
      via: "call",
      parent: () => ({ traceparent: undefined }),
      identify: () => NOBODY,
      decode: () => message,
      encode: (answer) => (answer === undefined ? null : messageOf(verb.of.output, answer)),
      send: (part, written) => send(messageOf(verb.of.output, part), written),
      end: resolve,
    });
    const ended = await promise;
    return ended.failure ? { failure: ended.failure } : { answer: ended.result };
  }
}

function messageOf(schema: DescMessage, answer: Answer | Buffer): Message {
  return Buffer.isBuffer(answer) ? fromBinary(schema, answer) : create(schema, answer);
}

/** What a database that fails leads to; everything else is a bug. */
function isExpected(error: unknown): boolean {
  if (error instanceof StoreError) return true;
  if (!(error instanceof Error)) return false;
  return error.name === "Fault" || isExpected(error.cause);
}
