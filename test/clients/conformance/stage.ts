// What one scenario in one language acts with: its servers, proxies, drivers and clients by their names, and what it has
// kept. Everything that it has started is gone afterwards.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type Rowlock } from "../../../clients/typescript/src/index.ts";
import { selfSignedCertificate } from "../../process/certificate.ts";
import { type DroppingProxy, startDroppingProxy } from "../../support/dropping-proxy.ts";
import { type Asked, type DriverProcess, type Heard, type Json, PATIENCE_MS } from "./driver-process.ts";
import type { Language } from "./language.ts";
import { type RefusingProxy, startRefusingProxy } from "./refusing-proxy.ts";
import { RowlockServer } from "./rowlock-server.ts";
import { type ClientSpec, type Scenario, type ServerSpec, slugOf } from "./scenario.ts";
import { startTellingServer } from "./telling-server.ts";
import { filled } from "./values.ts";

const AN_HOUR_MS = 3_600_000;
/** What a name of a scenario is an address of. */
const TELLING = "telling";
const CLOSE_PATIENCE_MS = 10_000;

export class Stage {
  readonly values = new Map<string, unknown>();
  readonly servers = new Map<string, RowlockServer>();
  readonly proxies = new Map<string, DroppingProxy>();
  readonly refusing = new Map<string, RefusingProxy>();
  readonly drivers = new Map<string, DriverProcess>();
  /** What was said, by the names under which steps speak of it. */
  readonly heard = new Map<string, Heard>();
  /** Commands whose answer is for a later step. */
  readonly asked = new Map<string, Asked>();
  readonly #language: Language;
  readonly #scenario: Scenario;
  readonly #slug: string;
  readonly #addresses = new Map<string, string>();
  readonly #driverOf = new Map<string, DriverProcess>();
  readonly #taken = new Set<Json>();
  readonly #lookers = new Map<string, Rowlock>();
  readonly #sharedClients: string[] = [];
  readonly #cleanups: (() => unknown)[] = [];

  constructor(language: Language, scenario: Scenario) {
    this.#language = language;
    this.#scenario = scenario;
    this.#slug = slugOf(scenario);
  }

  fill<Value>(value: Value): Value {
    return filled(value, this.values, this.#slug);
  }

  async setUp(): Promise<void> {
    const { servers, proxies, clients } = this.#scenario;
    const { server, databaseUrl } = await this.#language.sharedServer();
    this.#addresses.set("shared", server.address);
    if (Object.keys(servers).length === 0) {
      this.values.set("url", databaseUrl);
      this.servers.set("shared", server);
    } else {
      await this.#startServers(Object.entries(servers));
    }
    for (const [name, { address }] of this.servers) this.#addresses.set(name, address);
    for (const [name, { to, streams }] of Object.entries(proxies)) {
      const address = this.addressOf(to);
      if (streams) {
        const proxy = await startRefusingProxy(address, streams);
        this.#cleanups.push(() => proxy.close());
        this.refusing.set(name, proxy);
        this.#addresses.set(name, proxy.address);
      } else {
        const [host, port] = address.split(":") as [string, string];
        const proxy = await startDroppingProxy(host, Number(port));
        this.#cleanups.push(() => proxy.close());
        this.proxies.set(name, proxy);
        this.#addresses.set(name, `127.0.0.1:${proxy.port}`);
      }
    }
    for (const [name, spec] of Object.entries(clients)) await this.connect(name, spec);
  }

  async connect(name: string, { driver: driverName, to, ...more }: ClientSpec): Promise<Heard> {
    if (to === TELLING && !this.#addresses.has(TELLING)) {
      const telling = await startTellingServer();
      this.#cleanups.push(() => telling.close());
      this.#addresses.set(TELLING, telling.address);
    }
    const names = to === undefined ? [this.servers.keys().next().value as string] : [to].flat();
    const driver = this.#driver(driverName);
    this.#driverOf.set(name, driver);
    if (driverName === undefined) this.#sharedClients.push(name);
    const addresses = names.map((each) => this.addressOf(each));
    const command = { do: "connect", client: name, addresses, owner: name, ...this.fill(more) };
    const heard = await driver.ask(this.#own(command)).answer;
    if (heard.line.error) throw new Error(`connect ${name}: ${JSON.stringify(heard.line.error)}`);
    return heard;
  }

  /** Of a server or proxy by its name; an address is its own. */
  addressOf(name: string): string {
    const found = this.#addresses.get(name) ?? (name.includes(":") ? name : undefined);
    if (found === undefined) throw new Error(`There is no server or proxy ${name}.`);
    return found;
  }

  /** Sends a command to the driver that its client or lock is in. */
  ask(command: Json): Asked {
    const driver = this.driverOf(command);
    if (typeof command.lock === "string") this.#driverOf.set(`lock ${command.lock}`, driver);
    return driver.ask(this.#own(command));
  }

  driverOf({ client, lock, driver }: Json): DriverProcess {
    if (typeof driver === "string") return this.#driver(driver);
    const found =
      this.#driverOf.get(String(client)) ??
      this.#driverOf.get(`lock ${lock}`) ??
      this.#anyDriver(client, lock);
    return found;
  }

  /** The name of a lock's handle, as the driver has it. */
  handle(lock: unknown): string {
    return `${this.#slug}:${lock}`;
  }

  /** Each event is found once. */
  take(event: Json): void {
    this.#taken.add(event);
  }

  isTaken(event: Json): boolean {
    return this.#taken.has(event);
  }

  /** A client of the runner's own, which looks. */
  looker(server = this.servers.keys().next().value as string): Rowlock {
    let looker = this.#lookers.get(server);
    if (!looker) {
      looker = connect({ addresses: this.addressOf(server), owner: "looker", giveUpAfter: PATIENCE_MS });
      this.#lookers.set(server, looker);
      const opened = looker;
      this.#cleanups.push(() => opened.close());
    }
    return looker;
  }

  /** After steps that went well, the drivers of the scenario must end well, too. */
  async tearDown(wentWell: boolean): Promise<void> {
    try {
      if (wentWell) await this.#endDrivers();
    } finally {
      for (const driver of this.drivers.values()) await driver.destroy();
      await this.#closeShared();
      for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
    }
  }

  async #endDrivers(): Promise<void> {
    for (const driver of this.drivers.values()) if (!driver.hasEnded) await driver.end();
  }

  /** The shared driver lives on, without what this scenario had in it. */
  async #closeShared(): Promise<void> {
    const driver = this.#language.sharedDriver();
    const closed = this.#sharedClients.map((client) => driver.ask(this.#own({ do: "close", client })).answer);
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, CLOSE_PATIENCE_MS);
    await Promise.race([Promise.allSettled(closed), patience.promise]);
    clearTimeout(timer);
  }

  #driver(name: string | undefined): DriverProcess {
    if (name === undefined) return this.#language.sharedDriver();
    let driver = this.drivers.get(name);
    if (!driver) {
      driver = this.#language.startDriver();
      this.drivers.set(name, driver);
    }
    return driver;
  }

  /** For commands that name neither: the one that there is. */
  #anyDriver(client: unknown, lock: unknown): DriverProcess {
    if (client !== undefined) throw new Error(`There is no client ${client}.`);
    if (lock !== undefined) throw new Error(`There is no lock ${lock}.`);
    return this.drivers.values().next().value ?? this.#language.sharedDriver();
  }

  /** Scenarios share drivers, so that each has names of its own for clients and locks there. */
  #own(command: Json): Json {
    const { client, lock, driver: _, ...more } = command;
    return {
      ...more,
      ...(client !== undefined && { client: this.handle(client) }),
      ...(lock !== undefined && { lock: this.handle(lock) }),
    };
  }

  async #startServers(specs: readonly (readonly [string, ServerSpec])[]): Promise<void> {
    const { url, drop } = await this.#language.databases.fresh();
    this.#cleanups.push(drop);
    this.values.set("url", url);
    for (const [name, spec] of specs) {
      const server = await RowlockServer.start(url, [...spec.flags, ...(await this.#tlsFlags(spec))]);
      this.#cleanups.push(() => server.destroy());
      this.servers.set(name, server);
    }
  }

  async #tlsFlags({ tls, clientCertificate }: ServerSpec): Promise<string[]> {
    if (tls === undefined) return [];
    const folder = await mkdtemp(join(tmpdir(), "rowlock-tls-"));
    this.#cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const file = async (key: string, text: string) => {
      const path = join(folder, `${key}.pem`);
      await writeFile(path, text);
      this.values.set(key, path);
      return path;
    };
    const untilMs = tls === "expired" ? Date.now() - AN_HOUR_MS / 2 : undefined;
    const { cert, key } = selfSignedCertificate("localhost", untilMs);
    const flags = ["--tls-cert", await file("ca", cert), "--tls-key", await file("serverKey", key)];
    if (!clientCertificate) return flags;
    const own = selfSignedCertificate("client");
    await file("clientKey", own.key);
    return [...flags, "--tls-client-ca", await file("clientCert", own.cert)];
  }
}
