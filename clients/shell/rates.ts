// Rates as people write and read them: 500/1m, which is 500 permits a minute, with a burst if it differs from that.

import { InvalidArgumentError } from "commander";
import { PERMITS_MAX } from "../../server/core/bounds.ts";
import type { Rate } from "../typescript/src/index.ts";
import { UNIT_MS } from "./context.ts";
import { countParser, timeParser } from "./flags.ts";

const PER_MS_MIN = 1_000;

export const parseBurst = countParser(1, PERMITS_MAX);

export function parseRate(text: string): Rate {
  const [, permits, per] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (permits === undefined || per === undefined)
    throw new InvalidArgumentError("write permits and a time, such as 500/1m or 10/1s");
  return { permits: countParser(1, PERMITS_MAX)(permits), per: timeParser(PER_MS_MIN)(per) };
}

export function rateText({ permits, per, burst = permits }: Rate): string {
  const units = Object.entries(UNIT_MS).reverse();
  const [unit, ms] = units.find(([, each]) => per % each === 0) ?? ["ms", 1];
  return `${permits}/${per / ms}${unit}${burst === permits ? "" : `, burst ${burst}`}`;
}
