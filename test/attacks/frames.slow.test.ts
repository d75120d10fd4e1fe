// Floods of frames against a real server.
import { expect, test } from "vitest";
import { FRAMES } from "./kinds/frames.ts";
import { attackStage } from "./stage.ts";

const stage = attackStage();
test.each(Object.keys(FRAMES))("%s", async (name) => {
  const { peakMib } = await stage.attack(name);
  expect(peakMib).toBeLessThan(1000);
});
