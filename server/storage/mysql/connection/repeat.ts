// Repeats small writes that can be done twice without harm, such as making rows that may be there already, when the
// database has rolled one back. Deciding transactions are repeated by the engine, not here.

import { setTimeout as sleep } from "node:timers/promises";
import { REPEAT_PAUSE_MS, REPEATS_MAX } from "../../storage-bounds.ts";
import { StoreError } from "../../store.ts";
import type { MysqlPool } from "./pool.ts";
import type { Session } from "./session.ts";

/** Runs `work` until it is not rolled back by the database. `work` must be safe to repeat after an unknown outcome. */
export async function repeatedly<Answer>(
  pool: MysqlPool,
  work: (session: Session) => Promise<Answer>,
): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    try {
      return await pool.use((session) => {
        session.isPatient = true;
        return work(session);
      });
    } catch (error) {
      const worthIt = error instanceof StoreError && error.kind !== "unavailable" && tries < REPEATS_MAX;
      if (!worthIt) throw error;
      // Those who met in a deadlock must not meet again.
      await sleep(Math.random() * REPEAT_PAUSE_MS * 2 ** tries);
    }
  }
}
