// Three servers over one database that keep their ports, and an orchestrator that restarts one after the other: SIGTERM,
// the end of the process, a new one, readiness, the grace period.

import { setTimeout as sleep } from "node:timers/promises";
import { RowlockProcess, type RunningServer, screenOf } from "../process/server-process.ts";
import { readyPage } from "../process/stage.ts";
import { freePort } from "../support/mysql-family/private-server.ts";

/** On a busy machine, a start takes long. */
const PATIENCE_MS = 100_000;

interface Member {
  readonly address: string;
  readonly metricsAddress: string;
  server?: RunningServer;
}

export class Fleet {
  readonly members: readonly Member[];
  readonly #url: string;
  readonly #graceMs: number;

  private constructor(members: readonly Member[], url: string, graceMs: number) {
    this.members = members;
    this.#url = url;
    this.#graceMs = graceMs;
  }

  /** @param main the program; undefined: this version. */
  static async start(url: string, size: number, graceMs: number, main?: string): Promise<Fleet> {
    const members: Member[] = [];
    for (let index = 0; index < size; index++) {
      const [port, metricsPort] = [await freePort(), await freePort()];
      members.push({ address: `127.0.0.1:${port}`, metricsAddress: `127.0.0.1:${metricsPort}` });
    }
    const fleet = new Fleet(members, url, graceMs);
    try {
      // One after the other, so that the first one migrates.
      for (const member of members) await fleet.#start(member, main);
    } catch (error) {
      await fleet.destroy();
      throw error;
    }
    return fleet;
  }

  get addresses(): string[] {
    return this.members.map(({ address }) => address);
  }

  /** Restarts one server as an orchestrator does; `main` may be another version. Throws unless it ends with exit code 0. */
  async restart(index: number, main?: string): Promise<void> {
    const member = this.members[index] as Member;
    const { process } = member.server as RunningServer;
    process.kill("SIGTERM");
    const { code, err } = await process.ended();
    if (code !== 0) throw new Error(`The server ended with ${code}.\n${err.slice(-2_000)}`);
    await this.#start(member, main);
    // The grace period in which all waiters come back, before the next server goes.
    await sleep(this.#graceMs);
  }

  async destroy(): Promise<void> {
    await Promise.all(this.members.map(({ server }) => server?.process.destroy()));
  }

  async #start(member: Member, main?: string): Promise<void> {
    const { address, metricsAddress } = member;
    const where = ["--listen", address, "--metrics-listen", metricsAddress, "--database-url", this.#url];
    const args = ["serve", ...where, "--grace", `${this.#graceMs}ms`];
    const process = new RowlockProcess(args, {}, main, PATIENCE_MS);
    try {
      member.server = await screenOf(process);
    } catch (error) {
      await process.destroy();
      throw error;
    }
    await readyPage(member.server, 200);
  }
}
