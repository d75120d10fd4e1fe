// The connections between clients and servers, and the pokes between servers. A connection keeps the order of what is sent
// on it; it can be slow, silent for a while, or break, which both sides then notice.

import { EventEmitter } from "node:events";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { type BareCallOptions, RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import type { ClaimKey } from "../../../server/core/claim.ts";
import type { CarriedCall } from "../../../server/grpc/call-frame.ts";
import { between, type Chance, chanceOf } from "../world/chance.ts";
import type { Process, World } from "../world/world.ts";
import type { SimServer } from "./server.ts";

const NEVER_MS = 2 ** 40;

/** How bad the network is. */
export interface Weather {
  /** One way. */
  delayMsMax: number;
  /** Shares of calls at whose start, or before whose answer, their connection breaks. */
  requestLost: number;
  answerLost: number;
  /** Share of pokes that do not arrive, and how late the others are. */
  pokeLost: number;
  pokeMsMax: number;
}

export const FAIR: Weather = { delayMsMax: 3, requestLost: 0, answerLost: 0, pokeLost: 0, pokeMsMax: 5 };

export const connectionLost = () =>
  new RowlockError("CONNECTION_LOST", "UNAVAILABLE", "The connection was lost.");
export const deadlineExceeded = () =>
  new RowlockError("UNKNOWN", "DEADLINE_EXCEEDED", "The call was not answered in time.");

export class Line {
  readonly network: Network;
  readonly client: Process;
  readonly address: number;
  /** Nothing passes until it is over. */
  silentUntilMs = 0;
  /** No connection can be made. */
  isCut = false;
  #ways = { toServer: 0, toClient: 0 };
  /** Rises whenever the connection breaks: what was sent before does not arrive. */
  #connection = 0;
  readonly #atServer = new Set<() => void>();
  readonly #atClient = new Set<() => void>();
  readonly peer: string;
  /** Its own, so that what others send changes nothing here. */
  readonly chance: Chance;

  constructor(network: Network, client: Process, address: number) {
    this.network = network;
    this.client = client;
    this.address = address;
    this.peer = `${client.name}:${address}`;
    this.chance = chanceOf(network.world.seed, this.peer);
  }

  get server(): SimServer {
    return this.network.servers[this.address] as SimServer;
  }

  toServer(run: () => void): void {
    const { process } = this.server;
    const { world } = this.network;
    // Nothing listens there.
    if (process.state === "dead") world.at(world.director, this.#delayMs(), () => this.breaks());
    else this.#send("toServer", process, run);
  }

  toClient(run: () => void): void {
    this.#send("toClient", this.client, run);
  }

  /** Called in an event of that side when the connection breaks. Returns a function that takes it back. */
  onBroken(side: "server" | "client", tell: () => void): () => void {
    const told = side === "server" ? this.#atServer : this.#atClient;
    told.add(tell);
    return () => told.delete(tell);
  }

  breaks(): void {
    const { world } = this.network;
    this.#connection += 1;
    this.#ways = { toServer: 0, toClient: 0 };
    for (const tell of this.#atServer) world.at(this.server.process, this.#delayMs(), () => tell());
    for (const tell of this.#atClient) world.at(this.client, this.#delayMs(), () => tell());
    this.#atServer.clear();
    this.#atClient.clear();
  }

  #delayMs(): number {
    return between(this.chance, 0.05, this.network.weather.delayMsMax);
  }

  #send(way: "toServer" | "toClient", to: Process, run: () => void): void {
    const { world } = this.network;
    const connection = this.#connection;
    // Behind what was sent before, and not later than alone if that has arrived by then.
    const atMs = Math.max(this.#ways[way], Math.max(this.silentUntilMs, world.nowMs) + this.#delayMs());
    this.#ways[way] = atMs;
    world.at(to, atMs - world.nowMs, () => {
      if (connection === this.#connection) run();
    });
  }
}

/** What the server sees of a call. */
class Carried extends EventEmitter implements CarriedCall {
  cancelled = false;
  readonly #peer: string;
  readonly #deadlineMs: number;

  constructor(peer: string, deadlineMs: number) {
    super();
    this.#peer = peer;
    this.#deadlineMs = deadlineMs;
  }

  getDeadline(): number {
    return this.#deadlineMs;
  }

  getPeer(): string {
    return this.#peer;
  }

  cancel(): void {
    if (this.cancelled) return;
    this.cancelled = true;
    this.emit("cancelled");
  }
}

export class Network {
  readonly world: World;
  readonly #chance: Chance;
  readonly weather: Weather = { ...FAIR };
  /** By address. */
  readonly servers: SimServer[] = [];
  readonly #lines = new Map<string, Line>();

  constructor(world: World) {
    this.world = world;
    this.#chance = chanceOf(world.seed, "pokes");
  }

  line(client: Process, address: number): Line {
    const key = `${client.name}/${address}`;
    const known = this.#lines.get(key);
    if (known?.client === client) return known;
    const line = new Line(this, client, address);
    this.#lines.set(key, line);
    return line;
  }

  get lines(): Line[] {
    return [...this.#lines.values()];
  }

  poke(replica: bigint, claims: readonly ClaimKey[]): void {
    const server = this.servers.find((each) => each.replica === replica);
    if (!server || this.#chance() < this.weather.pokeLost) return;
    const ms = between(this.#chance, 0.05, this.weather.pokeMsMax);
    this.world.at(server.process, ms, () => server.engine.poked(claims));
  }

  /** Ends with an error or a message; for a stream with `null`, after `heard` has had its messages. */
  call(
    line: Line,
    method: keyof typeof LockService.method,
    request: object,
    { timeout = NEVER_MS, signal }: BareCallOptions,
    heard: (message: Message) => void = () => {},
  ): Promise<Message | null> {
    const { input } = LockService.method[method];
    // As it is when it arrives: nothing of it is shared.
    const message = fromBinary(input, toBinary(input, create(input, request as never)));
    const { weather } = this;
    const { chance } = line;
    const deadlineMs = Date.now() + timeout;
    return new Promise((resolve, reject) => {
      let carried: Carried | undefined;
      const end = (settle: () => void) => {
        clearTimeout(timer);
        noBreak();
        settle();
      };
      const giveUp = (error: RowlockError) => {
        line.toServer(() => carried?.cancel());
        end(() => reject(error));
      };
      const timer = setTimeout(() => giveUp(deadlineExceeded()), Math.min(timeout, NEVER_MS));
      const noBreak = line.onBroken("client", () => end(() => reject(connectionLost())));
      signal?.addEventListener("abort", () => giveUp(RowlockError.cancelled()), { once: true });
      if (line.isCut || chance() < weather.requestLost) return line.breaks();
      line.toServer(() => {
        const { server } = line;
        if (!server.isServing) return line.breaks();
        carried = new Carried(line.peer, deadlineMs);
        const late = setTimeout(() => carried?.cancel(), Math.min(timeout, NEVER_MS));
        const noCancel = line.onBroken("server", () => carried?.cancel());
        const send = (part: Message, written?: () => void) => {
          line.toClient(() => heard(part));
          if (written) setImmediate(written);
        };
        void server.call(method, message, carried, send).then((ended) => {
          clearTimeout(late);
          noCancel();
          if (chance() < weather.answerLost) return line.breaks();
          line.toClient(() =>
            end(() => {
              if ("failure" in ended) reject(RowlockError.ofStatus(ended.failure.packed));
              else resolve(ended.answer);
            }),
          );
        });
      });
    });
  }
}
