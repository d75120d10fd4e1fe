// A store that refuses older tokens loses no write: what it accepts was computed from what it has.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";

export function writes(history: History): Breach[] {
  return history
    .of("write")
    .filter(({ accepted, base, found }) => accepted && base !== found)
    .map(({ lock, who, token, base, found }) => ({
      rule: "no fenced write is lost",
      what: `${lock}: ${who} with token ${token} replaced ${found}, having read ${base}`,
    }));
}
