// What one scenario in one language uses: servers and proxies by name, its cast of drivers and clients, and kept
// values. Cleans up everything that it has started.

import { connect, type RowlockClient } from "../../../clients/typescript/src/index.ts";
import { type DroppingProxy, startDroppingProxy } from "../../support/dropping-proxy.ts";
import { type RefusingProxy, startRefusingProxy } from "../../support/refusing-proxy.ts";
import { Cast } from "./cast.ts";
import { makeCertificates } from "./certificates.ts";
import { Credentials } from "./credentials.ts";
import { type Asked, type Heard, type Json, PATIENCE_MS } from "./driver-process.ts";
import { type Files, makeFiles } from "./files.ts";
import type { Language } from "./language.ts";
import { RowlockServer } from "./rowlock-server.ts";
import { type ClientSpec, type ProxySpec, type Scenario, type ServerSpec, slugOf } from "./scenario.ts";
import { startTellingServer } from "./telling-server.ts";
import { filled } from "./values.ts";
import { startWebServer } from "./web-server.ts";

/** The address of the server that all scenarios of the language share. */
const SHARED = "shared";
/** Addresses that a scenario need not declare: servers that start when a client is to connect to them. */
const ON_DEMAND: Readonly<Record<string, () => Promise<{ readonly address: string; close(): void }>>> = {
  telling: startTellingServer,
  web: startWebServer,
};

export class Stage {
  readonly cast: Cast;
  /** Values kept by steps. */
  readonly values = new Map<string, unknown>();
  readonly servers = new Map<string, RowlockServer>();
  readonly proxies = new Map<string, DroppingProxy>();
  readonly refusing = new Map<string, RefusingProxy>();
  /** What servers that ask who calls accept, by their names. */
  readonly credentials = new Map<string, Credentials>();
  /** Answers and events, by the names that steps use for them. */
  readonly heard = new Map<string, Heard>();
  /** Commands whose answers later steps await. */
  readonly asked = new Map<string, Asked>();
  readonly #language: Language;
  readonly #scenario: Scenario;
  readonly #slug: string;
  readonly #addresses = new Map<string, string>();
  readonly #lookers = new Map<string, RowlockClient>();
  readonly #cleanups: (() => unknown)[] = [];
  #files: Files | undefined;

  constructor(language: Language, scenario: Scenario) {
    this.#language = language;
    this.#scenario = scenario;
    this.#slug = slugOf(scenario);
    this.cast = new Cast(language, this.#slug);
  }

  fill<Value>(value: Value): Value {
    return filled(value, this.values, this.#slug);
  }

  async setUp(): Promise<void> {
    const { servers, proxies, clients } = this.#scenario;
    const { address, own } = await this.#language.sharedServer();
    this.#addresses.set(SHARED, address);
    if (Object.keys(servers).length === 0) {
      if (own) {
        this.values.set("url", own.databaseUrl);
        this.servers.set(SHARED, own.server);
      }
    } else {
      const { url, drop } = await this.#language.databases.fresh();
      this.#cleanups.push(drop);
      this.values.set("url", url);
      for (const [name, spec] of Object.entries(servers)) await this.#startServer(name, spec, url);
    }
    for (const [name, spec] of Object.entries(proxies)) await this.#startProxy(name, spec);
    for (const [name, spec] of Object.entries(clients)) {
      const { error } = (await this.connect(name, spec)).line;
      if (error) throw new Error(`connect ${name}: ${JSON.stringify(error)}`);
    }
  }

  /** Adds a client that is its own owner, so that it shows in views of a lock. */
  async connect(name: string, { driver, to = this.firstServer, ...more }: ClientSpec): Promise<Heard> {
    this.cast.add(name, driver);
    const names = this.fill([to].flat());
    for (const each of names) await this.#startOnDemand(each);
    const addresses = names.map((each) => this.addressOf(each));
    const command = { do: "connect", client: name, addresses, owner: name, ...this.fill(more) };
    return await this.cast.ask(command).answer;
  }

  get firstServer(): string {
    return this.servers.keys().next().value ?? SHARED;
  }

  /** The address of a server or proxy by name; an address is returned unchanged. */
  addressOf(name: string): string {
    const found = this.#addresses.get(name) ?? (name.includes(":") ? name : undefined);
    if (found === undefined) throw new Error(`There is no server or proxy ${name}.`);
    return found;
  }

  ask(command: Json): Asked {
    return this.cast.ask(command);
  }

  /** A client of the runner, for looking at locks. */
  looker(server = this.firstServer): RowlockClient {
    const found = this.#lookers.get(server);
    if (found) return found;
    const credentials = this.credentials.get(server);
    const looker = connect({
      addresses: this.addressOf(server),
      owner: "looker",
      giveUpAfter: PATIENCE_MS,
      ...(credentials && { token: credentials.looker }),
    });
    this.#lookers.set(server, looker);
    this.#cleanups.push(() => looker.close());
    return looker;
  }

  /** Files of this scenario, which its steps write. */
  async files(): Promise<Files> {
    if (!this.#files) {
      const files = await makeFiles();
      this.#cleanups.push(() => files.remove());
      this.#files = files;
    }
    return this.#files;
  }

  /** If the steps went well, the scenario's drivers must also end well. */
  async tearDown(wentWell: boolean): Promise<void> {
    try {
      if (wentWell) await this.cast.end();
    } finally {
      await this.cast.destroy();
      for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup();
    }
  }

  async #startServer(
    name: string,
    { flags, tls, clientCertificate, tokens, jwt }: ServerSpec,
    url: string,
  ): Promise<void> {
    const certificates = tls && (await makeCertificates(tls, clientCertificate));
    if (certificates) {
      this.#cleanups.push(() => certificates.remove());
      for (const [file, path] of Object.entries(certificates.files)) this.values.set(file, path);
    }
    const credentials = tokens || jwt ? await Credentials.make(tokens ?? {}, jwt) : undefined;
    if (credentials) {
      this.#cleanups.push(() => credentials.remove());
      this.credentials.set(name, credentials);
    }
    const all = [...flags, ...(certificates?.flags ?? [])];
    const server = await RowlockServer.start(url, all, credentials?.env);
    this.#cleanups.push(() => server.destroy());
    this.servers.set(name, server);
    this.#addresses.set(name, server.address);
  }

  async #startProxy(name: string, { to, streams }: ProxySpec): Promise<void> {
    const behind = this.addressOf(to);
    if (streams) {
      const proxy = await startRefusingProxy(behind, streams === "UNIMPLEMENTED" ? streams : Number(streams));
      this.#cleanups.push(() => proxy.close());
      this.refusing.set(name, proxy);
      this.#addresses.set(name, proxy.address);
      return;
    }
    const [host, port] = behind.split(":") as [string, string];
    const proxy = await startDroppingProxy(host, Number(port));
    this.#cleanups.push(() => proxy.close());
    this.proxies.set(name, proxy);
    this.#addresses.set(name, `127.0.0.1:${proxy.port}`);
  }

  async #startOnDemand(name: string): Promise<void> {
    const start = ON_DEMAND[name];
    if (!start || this.#addresses.has(name)) return;
    const started = await start();
    this.#cleanups.push(() => started.close());
    this.#addresses.set(name, started.address);
  }
}
