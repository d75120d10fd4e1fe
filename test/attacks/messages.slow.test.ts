// probe
import { expect, test } from "vitest";
import { MESSAGES } from "./kinds/messages.ts";
import { attackStage } from "./stage.ts";

const stage = attackStage();
test.each(Object.keys(MESSAGES))("%s", async (name) => {
  const { peakMib } = await stage.attack(name);
  expect(peakMib).toBeLessThan(1000);
});
