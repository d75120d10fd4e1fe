// Processes that die, freeze and come back.

import { setTimeout as sleep } from "node:timers/promises";
import { used } from "../house/database.ts";
import { oneOf } from "../work/run.ts";
import { type Fault, LONG_MS, SHORT_MS } from "./fault.ts";
import { killedWaiter } from "./killed-waiter.ts";

const DOWN_MS = 1_000;

const killedServer: Fault = {
  name: "a server is killed and started again",
  needs: "nothing",
  async strike({ servers }, chance) {
    const server = oneOf(servers, chance);
    server.signal("SIGKILL");
    await sleep(DOWN_MS);
    await server.start();
  },
};

const restartedServer: Fault = {
  name: "a server is stopped and started again",
  needs: "nothing",
  async strike({ servers }, chance) {
    const server = oneOf(servers, chance);
    server.signal("SIGTERM");
    await server.start();
  },
};

function frozenServer(forMs: number): Fault {
  return {
    name: `a server is frozen for ${forMs / 1e3} s`,
    needs: "nothing",
    async strike({ servers }, chance) {
      const server = oneOf(servers, chance);
      server.signal("SIGSTOP");
      await sleep(forMs);
      server.signal("SIGCONT");
    },
  };
}

const killedClient: Fault = {
  name: "a client is killed and replaced",
  needs: "nothing",
  strike: ({ clients }, chance) => oneOf(clients, chance).replace(),
};

function frozenClient(forMs: number): Fault {
  return {
    name: `a client is frozen for ${forMs / 1e3} s`,
    needs: "nothing",
    async strike({ clients }, chance) {
      const client = oneOf(clients, chance);
      client.freeze();
      await sleep(forMs);
      client.thaw();
    },
  };
}

const killedDatabase: Fault = {
  name: "the database server is killed and started again",
  needs: "database server",
  async strike({ database }) {
    const daemon = await used(database);
    await daemon.kill();
    await daemon.comeBack();
  },
};

function frozenDatabase(forMs: number): Fault {
  return {
    name: `the database server is frozen for ${forMs / 1e3} s`,
    needs: "database server",
    async strike({ database }) {
      const daemon = await used(database);
      await daemon.freeze();
      await sleep(forMs);
      daemon.thaw();
      await daemon.comeBack();
    },
  };
}

export const PROCESS_FAULTS: readonly Fault[] = [
  killedServer,
  restartedServer,
  frozenServer(SHORT_MS),
  frozenServer(LONG_MS),
  killedClient,
  killedWaiter,
  frozenClient(SHORT_MS),
  frozenClient(LONG_MS),
  killedDatabase,
  frozenDatabase(SHORT_MS),
  frozenDatabase(LONG_MS),
];
