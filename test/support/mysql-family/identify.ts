// Waits for a server to answer, and asks it for its flavour and version.
import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import { createConnection } from "mysql2/promise";
import type { FoundServer } from "./found-server.ts";

const POLL_EVERY_MS = 100;
const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 5_000;

/**
 * Waits until the server at `url` accepts a connection, at most `patienceMs`, and returns what the server is. Throws
 * the error of the last attempt. `giveUp` is called between attempts and ends the wait early by throwing.
 */
export async function identify(url: string, patienceMs: number, giveUp?: () => void): Promise<FoundServer> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    giveUp?.();
    try {
      const connection = await createConnection({ uri: url, connectTimeout: CONNECT_TIMEOUT_MS });
      try {
        const [rows] = await connection.query<RowDataPacket[]>({
          sql: "SELECT VERSION() AS version",
          timeout: QUERY_TIMEOUT_MS,
        });
        const version = String(rows[0]?.version);
        return { flavour: version.includes("MariaDB") ? "mariadb" : "mysql", version, url };
      } finally {
        connection.destroy();
      }
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(POLL_EVERY_MS);
    }
  }
}
