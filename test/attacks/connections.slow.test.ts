// Attacks by connections on a real server: many, silent ones, slow ones.
import { expect, test } from "vitest";
import { CONNECTIONS } from "./kinds/connections.ts";
import { attackStage } from "./stage.ts";

const stage = attackStage();
test.each(Object.keys(CONNECTIONS).filter((n) => !n.includes("TLS")))("%s", async (name) => {
  const { peakMib } = await stage.attack(
    name,
    name.includes("crowd") ? { args: ["--connections-max", "12000"] } : {},
  );
  expect(peakMib).toBeLessThan(1000);
});
