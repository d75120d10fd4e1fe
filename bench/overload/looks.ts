// Looks at what a run must not leave growing: the memory of the server, its open files, its log, the rows of each table,
// and the files of the database.

import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { createConnection, type RowDataPacket } from "mysql2/promise";
import { scrape } from "../scrape.ts";
import type { House } from "./house.ts";
import type { Series } from "./level.ts";

const MIB = 2 ** 20;
/** The redo log has a fixed size, and the temporary tablespace belongs to no table. */
const NO_DATA = /^(ib_logfile|ibtmp|.*\.pid$|.*\.sock$|aria_log)/;
const KEPT_LONG = "the server keeps what people have changed for an hour at least";

export class Looks {
  readonly #house: House;
  readonly #all = new Map<string, { unit: Series["unit"]; values: number[] }>();
  /** Bytes of the log at the last look. */
  #logged = 0;

  constructor(house: House) {
    this.#house = house;
  }

  async look(): Promise<void> {
    const metrics = await scrape(this.#house.metrics);
    const metric = (name: string) => metrics.get(name) ?? Number.NaN;
    this.#note("memory of the server (resident)", "MiB", metric("process_resident_memory_bytes") / MIB);
    this.#note("heap in use", "MiB", metric("nodejs_heap_size_used_bytes") / MIB);
    this.#note("open files and sockets of the server", "count", metric("process_open_fds"));
    const logged = this.#house.logBytes();
    this.#note("log of the server since the last look", "KiB", (logged - this.#logged) / 1_024);
    this.#logged = logged;
    const connection = await createConnection({ uri: this.#house.url });
    try {
      await this.#rows(connection);
      const [[row]] = await connection.query<RowDataPacket[]>("SELECT @@datadir AS folder");
      const files = await sizes(String(row?.folder));
      for (const [file, bytes] of files) this.#note(`file ${file}`, "MiB", bytes / MIB);
    } finally {
      connection.destroy();
    }
  }

  series(): Series[] {
    return [...this.#all].map(([what, { unit, values }]) => ({
      what,
      unit,
      values,
      ...(/rowlock_change\b/.test(what) && { mayGrow: KEPT_LONG }),
    }));
  }

  async #rows(connection: Awaited<ReturnType<typeof createConnection>>): Promise<void> {
    const [tables] = await connection.query<RowDataPacket[]>(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
    );
    for (const { name } of tables) {
      if (!String(name).startsWith("rowlock")) continue;
      const [[row]] = await connection.query<RowDataPacket[]>(`SELECT COUNT(*) AS count FROM ${name}`);
      this.#note(`rows of ${name}`, "rows", Number(row?.count));
    }
  }

  #note(what: string, unit: Series["unit"], value: number): void {
    const one = this.#all.get(what) ?? { unit, values: [] };
    one.values.push(value);
    this.#all.set(what, one);
  }
}

/** Of each table's file, and of all others together. */
async function sizes(folder: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let others = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || NO_DATA.test(entry.name)) continue;
    const bytes = await stat(join(entry.parentPath, entry.name)).then(
      ({ size }) => size,
      () => 0,
    );
    if (entry.name.startsWith("rowlock") && entry.name.endsWith(".ibd")) found.set(entry.name, bytes);
    else others += bytes;
  }
  return found.set("all other files of the database", others);
}
