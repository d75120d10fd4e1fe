// One etcd with default settings: it syncs each change to its log before it answers.

import { freePort } from "../../test/support/mysql-family/private-server.ts";
import { startChildServer } from "./child-server.ts";
import type { System } from "./system.ts";

export const etcd: System = {
  name: "etcd",
  async start({ directory }) {
    const [address, peers] = [`127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
    const flags = {
      name: "bench",
      "data-dir": "data",
      "listen-client-urls": `http://${address}`,
      "advertise-client-urls": `http://${address}`,
      "listen-peer-urls": peers,
      "initial-advertise-peer-urls": peers,
      "initial-cluster": `bench=${peers}`,
    };
    const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
    const says = /etcd Version: (\S+)[\s\S]*ready to serve client requests/i;
    const { said, pid, stop } = await startChildServer("etcd", args, directory, says);
    return { version: said[1] as string, target: { system: "etcd", address }, pids: [pid], stop };
  },
};
