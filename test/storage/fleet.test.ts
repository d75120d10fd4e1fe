// Which versions may start, and migrate, beside those that run.

import { expect, test } from "vitest";
import { LEVEL, LEVEL_MIN, whyTooOld } from "../../server/core/level.ts";
import { whyNotBeside, whyNotMigrate } from "../../server/storage/fleet.ts";

const member = (level: number, knows = "") => ({
  address: `10.0.0.${level + 1}:50051`,
  version: `0.${level}.0`,
  level,
  knows,
});

test("a version may decide while the database records no higher level than its own", () => {
  expect(whyTooOld({ level: LEVEL, by: "1.0.0" })).toBeNull();
  expect(whyTooOld({ level: LEVEL + 1, by: "1.1.0" })).toContain("Start version 1.1.0 or the one before it.");
});

test("a version decides beside the version before it, and leaves room for that in the database", () => {
  expect(LEVEL - LEVEL_MIN).toBeLessThanOrEqual(1);
  expect(whyNotBeside([member(LEVEL), member(LEVEL_MIN), member(LEVEL + 1)])).toBeNull();
});

test("a version names all servers that are too old to run beside it", () => {
  const older = [member(LEVEL_MIN - 1), member(LEVEL_MIN - 2)];
  expect(whyNotBeside([member(LEVEL), ...older])).toBe(
    `This version has level ${LEVEL} and can run beside servers of level ${LEVEL_MIN} or later, but there is ` +
      `version 0.${LEVEL_MIN - 1}.0 (level ${LEVEL_MIN - 1}) at 10.0.0.${LEVEL_MIN}:50051, ` +
      `version 0.${LEVEL_MIN - 2}.0 (level ${LEVEL_MIN - 2}) at 10.0.0.${LEVEL_MIN - 1}:50051. ` +
      "Stop the older servers first, or start the version in between. A server that has died is forgotten after 20 s.",
  );
});

const adding = { name: "0021-adds", needs: "0013-levels" };
const breaking = { name: "0022-breaks" };

test("a migration that only adds runs beside every server that knows what it needs", () => {
  expect(
    whyNotMigrate([adding], [member(1, "0013-levels"), member(1, "0020-other"), member(1, "0021-adds")]),
  ).toBeNull();
  expect(whyNotMigrate([], [member(0)])).toBeNull();
});

test("a migration does not run beside a server that does not know what it needs", () => {
  expect(whyNotMigrate([adding], [member(0)])).toContain(
    "there is version 0.0.0 (level 0) at 10.0.0.1:50051.",
  );
  expect(whyNotMigrate([adding, breaking], [member(1, "0021-adds"), member(2, "0022-breaks")])).toBe(
    "The migrations 0021-adds, 0022-breaks would break servers that do not know 0022-breaks: there is version 0.1.0 (level 1) " +
      "at 10.0.0.2:50051. Stop these servers before the schema is migrated. A server that has died is forgotten after 20 s.",
  );
});
