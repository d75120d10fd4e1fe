// The drivers of one scenario, with the clients and locks in them: which command goes to which process, and under which names.

import type { Asked, DriverProcess, Json } from "./driver-process.ts";
import type { Language } from "./language.ts";

const CLOSE_PATIENCE_MS = 10_000;

export class Cast {
  /** Its own, by their names. */
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

  /** @param driver a name, or the one that scenarios of this language share. */
  add(client: string, driver: string | undefined): void {
    this.#byClient.set(client, this.#driver(driver));
    if (driver === undefined) this.#sharedClients.push(client);
  }

  /** Sends a command to the driver that its client or lock is in. */
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

  /** The name of a lock's handle, as the driver has it. */
  handle(lock: unknown): string {
    return `${this.#prefix}:${lock}`;
  }

  /** From now on it is not found any more. */
  take(event: Json): void {
    this.#taken.add(event);
  }

  isTaken(event: Json): boolean {
    return this.#taken.has(event);
  }

  /** Of the scenario's own drivers, each of which must end well. */
  async end(): Promise<void> {
    for (const driver of this.drivers.values()) if (!driver.hasEnded) await driver.end();
  }

  /** The shared driver lives on, without what this scenario had in it. */
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

  /** Scenarios share drivers, so that each has names of its own for clients and locks there. */
  #own({ client, lock, driver: _, ...more }: Json): Json {
    return {
      ...more,
      ...(client !== undefined && { client: this.handle(client) }),
      ...(lock !== undefined && { lock: this.handle(lock) }),
    };
  }
}

/** That of the command; a capture has one more for each lock that it may take. */
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
