import { expect, test } from "vitest";
import { SESSIONS } from "./kinds/sessions.ts";
import { attackStage } from "./stage.ts";

const stage = attackStage();
test.each(Object.keys(SESSIONS))("%s", async (name) => {
  const { peakMib } = await stage.attack(name);
  expect(peakMib).toBeLessThan(1000);
});
