// The drivers of one scenario, with their clients and locks: which process gets which command, and under which names.

import type { Asked, DriverProcess, Json } from "./driver-process.ts";
import type { Language } from "./language.ts";

const CLOSE_PATIENCE_MS = 10_000;
/** What a scenario names in a driver, besides clients. */
const HANDLES = ["lock", "watch", "worker", "server"] as const;

export class Cast {
  /** The scenario's own drivers, by name. */
  readonly drivers = new Map<string, DriverProcess>();
  readonly #language: Language;
  readonly #prefix: string;
  readonly #byClient = new Map<string, DriverProcess>();
  readonly #byHandle = new Map<string, DriverProcess>();
  readonly #sharedClients: string[] = [];
  readonly #taken = new Set<Json>();

  constructor(language: Language, prefix: string) {
    this.#language = language;
    this.#prefix = prefix;
  }

  /** @param driver its name; undefined: the driver that scenarios of this language share. */
  add(client: string, driver: string | undefined): void {
    this.#byClient.set(client, this.#driver(driver));
    if (driver === undefined) this.#sharedClients.push(client);
  }

  /** Sends a command to the driver that has its client, or what else it names. */
  ask(command: Json): Asked {
    const driver = this.driverOf(command);
    for (const [kind, handle] of handlesOf(command)) this.#byHandle.set(`${kind} ${handle}`, driver);
    return driver.ask(this.#own(command));
  }

  driverOf({ driver, client, ...more }: Json): DriverProcess {
    if (typeof driver === "string") return this.#driver(driver);
    if (client !== undefined) return known(this.#byClient, `client ${client}`, client);
    const kind = HANDLES.find((each) => more[each] !== undefined);
    // The command that makes a test server names no client.
    const found = kind && this.#byHandle.get(`${kind} ${more[kind]}`);
    if (found) return found;
    if (kind !== undefined && kind !== "server") throw new Error(`There is no ${kind} ${more[kind]}.`);
    return this.#driver(undefined);
  }

  /** Whether an event is about what these words name, such as a lock or a watch. */
  isAbout(event: Json, words: Json): boolean {
    return HANDLES.every((kind) => words[kind] === undefined || event[kind] === this.#handle(words[kind]));
  }

  /** The driver's name for a handle. */
  #handle(name: unknown): string {
    return `${this.#prefix}:${name}`;
  }

  /** Later searches do not find the event any more. */
  take(event: Json): void {
    this.#taken.add(event);
  }

  isTaken(event: Json): boolean {
    return this.#taken.has(event);
  }

  /** Ends the scenario's own drivers. Throws unless each ends well. */
  async end(): Promise<void> {
    for (const driver of this.drivers.values()) if (!driver.hasEnded) await driver.end();
  }

  /** Destroys the scenario's own drivers. The shared driver stays, and closes what this scenario had in it. */
  async destroy(): Promise<void> {
    for (const driver of this.drivers.values()) await driver.destroy();
    const closed = this.#sharedClients.map((client) => this.ask({ do: "close", client }).answer);
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, CLOSE_PATIENCE_MS);
    await Promise.race([Promise.allSettled(closed), patience.promise]);
    clearTimeout(timer);
  }

  #driver(name: string | undefined): DriverProcess {
    if (name === undefined) return this.#language.sharedDriver();
    const driver = this.drivers.get(name) ?? this.#language.startDriver();
    this.drivers.set(name, driver);
    return driver;
  }

  /** Prefixes the names of clients and handles, because scenarios share a driver. */
  #own({ driver: _, ...command }: Json): Json {
    const prefixed = ["client", ...HANDLES]
      .filter((kind) => command[kind] !== undefined)
      .map((kind) => [kind, this.#handle(command[kind])]);
    return { ...command, ...Object.fromEntries(prefixed) };
  }
}

/** The handles that the command makes; a capture makes one for each lock that it may take. */
function handlesOf({ do: verb, count = 1, ...more }: Json): [kind: string, handle: unknown][] {
  const own = HANDLES.filter((kind) => more[kind] !== undefined).map((kind) => [kind, more[kind]] as const);
  const taken = verb === "capture" ? Array.from({ length: Number(count) }, (_, index) => index) : [];
  return [...own, ...taken.map((index) => ["lock", `${more.lock}${index}`] as const)].map((each) => [
    ...each,
  ]);
}

function known(all: ReadonlyMap<string, DriverProcess>, what: string, name: unknown): DriverProcess {
  const found = all.get(String(name));
  if (!found) throw new Error(`There is no ${what}.`);
  return found;
}
