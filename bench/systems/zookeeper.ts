// One ZooKeeper, as Debian packages it: it syncs each change to its log before it answers.

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../test/support/mysql-family/private-server.ts";
import { startChildServer } from "./child-server.ts";
import { NotHere, type System } from "./system.ts";

/** Without the second one, which Debian installs with it, ZooKeeper would not log that it is ready. */
const JARS = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"];

export const zookeeper: System = {
  name: "zookeeper",
  async start({ directory }) {
    if (!JARS.every((jar) => existsSync(jar))) throw new NotHere("zookeeper is not installed");
    const port = await freePort();
    const settings = {
      dataDir: join(directory, "data"),
      clientPort: port,
      clientPortAddress: "127.0.0.1",
      tickTime: 2_000,
      // No limit, because every caller has a connection from this address.
      maxClientCnxns: 0,
      "admin.enableServer": false,
    };
    const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`);
    await writeFile(join(directory, "zoo.cfg"), lines.join(""));
    const program = ["-cp", JARS.join(":"), "org.apache.zookeeper.server.ZooKeeperServerMain", "zoo.cfg"];
    const says = /zookeeper\.version=([\w.]+)[\s\S]*PrepRequestProcessor \(sid:0\) started/;
    const { said, pid, stop } = await startChildServer("java", program, directory, says);
    return {
      version: said[1] as string,
      target: { system: "zookeeper", address: `127.0.0.1:${port}` },
      pids: [pid],
      stop,
    };
  },
};
