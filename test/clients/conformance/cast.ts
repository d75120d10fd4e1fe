// The drivers of one scenario, with their clients and locks: which process gets which command, and under which names.

import type { Asked, DriverProcess, Json } from "./driver-process.ts";
import type { Language } from "./language.ts";

const CLOSE_PATIENCE_MS = 10_000;

export class Cast {
  /** The scenario's own drivers, by name. */
  readonly drivers = new Map<string, DriverProcess>();
  readonly #language: Language;
  readonly #prefix: string;
  readonly #byClient = new Map<string, DriverProcess>();
  readonly #byLock = new Map<string, DriverProcess>();
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

  /** Sends a command to the driver that has its client or lock. */
  ask(command: Json): Asked {
    const driver = this.driverOf(command);
    for (const lock of handlesOf(command)) this.#byLock.set(lock, driver);
    return driver.ask(this.#own(command));
  }

  driverOf({ driver, client, lock }: Json): DriverProcess {
    if (typeof driver === "string") return this.#driver(driver);
    if (client !== undefined) return known(this.#byClient, "client", client);
    if (lock !== undefined) return known(this.#byLock, "lock", lock);
    return this.#driver(undefined);
  }

  /** The driver's name for a lock handle. */
  handle(lock: unknown): string {
    return `${this.#prefix}:${lock}`;
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

  /** Prefixes client and lock names, because scenarios share a driver. */
  #own({ client, lock, driver: _, ...more }: Json): Json {
    return {
      ...more,
      ...(client !== undefined && { client: this.handle(client) }),
      ...(lock !== undefined && { lock: this.handle(lock) }),
    };
  }
}

/** The handle of the command; a capture has one more for each lock that it may take. */
function handlesOf({ do: verb, lock, count = 1 }: Json): string[] {
  if (typeof lock !== "string") return [];
  const taken =
    verb === "capture" ? Array.from({ length: Number(count) }, (_, index) => `${lock}${index}`) : [];
  return [lock, ...taken];
}

function known(all: ReadonlyMap<string, DriverProcess>, what: string, name: unknown): DriverProcess {
  const found = all.get(String(name));
  if (!found) throw new Error(`There is no ${what} ${name}.`);
  return found;
}
