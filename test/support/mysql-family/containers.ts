// Starts MySQL and MariaDB in Docker through testcontainers, if a Docker engine answers.
import { setTimeout as sleep } from "node:timers/promises";
import type { Flavour } from "./found-server.ts";
import { identify } from "./identify.ts";
import type { RunningServer } from "./private-server.ts";

export const IMAGES: Readonly<Record<Flavour, string>> = { mysql: "mysql:9", mariadb: "mariadb:lts" };
const PORT = 3306;
const ENGINE_PATIENCE_MS = 5_000;
/** Includes pulling an image. */
const START_PATIENCE_MS = 240_000;
const PASSWORD = "rowlock";

/** Whether a Docker engine answers within a bounded time. */
export async function dockerAnswers(): Promise<boolean> {
  const { getContainerRuntimeClient } = await import("testcontainers");
  const answer = getContainerRuntimeClient().then(
    () => true,
    () => false,
  );
  return Promise.race([answer, sleep(ENGINE_PATIENCE_MS, false, { ref: false })]);
}

/** Starts a container of `flavour` and waits until its server answers; throws if it does not. */
export async function startContainer(flavour: Flavour): Promise<RunningServer> {
  const { GenericContainer } = await import("testcontainers");
  const container = await new GenericContainer(IMAGES[flavour])
    .withEnvironment({ MYSQL_ROOT_PASSWORD: PASSWORD, MYSQL_ROOT_HOST: "%", MARIADB_ROOT_PASSWORD: PASSWORD })
    .withCommand([
      "--skip-name-resolve",
      "--innodb-buffer-pool-size=128M",
      "--max-connections=400",
      "--performance-schema=OFF",
      ...(flavour === "mysql" ? ["--mysqlx=OFF"] : []),
    ])
    .withExposedPorts(PORT)
    .withStartupTimeout(START_PATIENCE_MS)
    .start();
  try {
    const url = `mysql://root:${PASSWORD}@${container.getHost()}:${container.getMappedPort(PORT)}`;
    const server = await identify(url, START_PATIENCE_MS);
    return { server, stop: async () => void (await container.stop()) };
  } catch (error) {
    await container.stop();
    throw error;
  }
}
