// What people use in MySQL without a lock server: GET_LOCK, and a table that they poll.

import type { System } from "./system.ts";

export const getLock = onMysql("get-lock");
export const polledTable = onMysql("polled-table");

function onMysql(name: string): System {
  return {
    name,
    async start({ databases }) {
      const { server, name: database } = await databases.database("mysql", name.replace("-", "_"));
      const { username, password, host } = new URL(server.url);
      return {
        version: server.version,
        target: { system: name, address: `${username}:${password}@tcp(${host})/${database}` },
        pids: [],
        hasDatabase: true,
        // The server is stopped at the end of the round.
        stop: async () => {},
      };
    },
  };
}
