// What a run starts: the database, the servers, the network, the clients.

import type { History } from "../faults/history/history.ts";
import { FencedStore } from "../faults/work/fenced-store.ts";
import { SimClient } from "./clients/client.ts";
import { type Line, Network } from "./servers/network.ts";
import { SimServer } from "./servers/server.ts";
import { CLIENTS, SERVERS, TTL_MS } from "./steps.ts";
import { type Rows, SimDatabase } from "./store/database.ts";
import type { Planted } from "./store/sim-store.ts";
import { maybeWorld, type World } from "./world/world.ts";

/** After a fail-over nothing is granted for as long as a lease may last. */
const FAIL_OVER_PAUSE_US = TTL_MS * 1_000;

export class House {
  readonly world: World;
  readonly history: History;
  readonly database: SimDatabase;
  readonly network: Network;
  readonly clients: readonly SimClient[];
  /** What servers have reported as bugs. */
  readonly bugs: string[] = [];
  readonly #planted: Planted;
  #lives = 0;
  /** Called when a client has been killed and replaced. */
  onReplaced: (client: number) => void = () => {};

  constructor(world: World, rows: Rows, history: History, planted: Planted) {
    // Servers read the clock and draw numbers as they are made. Those must be the clock and the numbers of the world.
    if (maybeWorld() !== world) throw new Error("A house is made while its world runs.");
    this.world = world;
    this.history = history;
    this.#planted = planted;
    this.database = new SimDatabase(world, rows);
    this.network = new Network(world);
    for (let index = 0; index < SERVERS; index++) this.start(index);
    const { network } = this;
    const store = new FencedStore();
    this.clients = Array.from(
      { length: CLIENTS },
      (_, index) => new SimClient({ world, network, history, store, name: `c${index}`, index }),
    );
  }

  /** A new server at this address. */
  start(index: number): void {
    this.#lives += 1;
    const server = new SimServer({
      database: this.database,
      name: `s${index}.${this.#lives}`,
      poke: (_, replica, claims) => this.network.poke(replica, claims),
      onBug: (what) => this.bugs.push(what),
      planted: this.#planted,
      failOverPauseUs: FAIL_OVER_PAUSE_US,
    });
    this.network.servers[index] = server;
    this.world.at(server.process, 0, () => {
      server.start().catch((error: unknown) => this.bugs.push(String(error)));
    });
  }

  crash(index: number): void {
    this.world.kill((this.network.servers[index] as SimServer).process);
    for (const line of this.network.lines) if (line.address === index) line.breaks();
  }

  /** Ends the server that is there, and starts another one. */
  replace(index: number): void {
    this.crash(index);
    this.start(index);
  }

  kill(index: number): void {
    const client = this.clients[index] as SimClient;
    this.world.thaw(client.process);
    client.kill();
    this.onReplaced(index);
  }

  lineOf(client: number, server: number): Line {
    return this.network.line((this.clients[client] as SimClient).process, server);
  }
}
