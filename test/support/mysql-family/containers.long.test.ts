// The database servers of tests in Docker, by testcontainers: each serves Rowlock. Without a Docker engine, tests use
// servers of the machine instead.

import { expect, test } from "vitest";
import { processStage } from "../../process/stage.ts";
import { freshDatabase } from "../database.ts";
import { dockerLacks } from "../docker.ts";
import { IMAGES, startContainer } from "./containers.ts";

/** Includes starting a database on a busy machine. */
const STARTING_MS = 400_000;
const stage = processStage();

for (const flavour of ["mariadb", "mysql"] as const) {
  const lacks = dockerLacks(IMAGES[flavour]);
  test.skipIf(lacks)(
    `${flavour} serves Rowlock from a container${lacks ? `, left out: ${lacks}` : ""}`,
    async () => {
      const { server, stop } = await startContainer(flavour);
      stage.afterwards(stop);
      expect(server.flavour).toBe(flavour);
      const { client } = await stage.serving(await stage.database(() => freshDatabase(server)));
      expect(await client.lease({ name: "x" })).toMatchObject({ fencingToken: 1n });
    },
    STARTING_MS,
  );
}
