// The log of a client, by itself.

import { expect, test } from "vitest";
import type { HeldLease } from "../../../../clients/typescript/src/leases/held-lease.ts";
import type { LogFields } from "../../../../clients/typescript/src/options.ts";
import { Telemetry } from "../../../../clients/typescript/src/telemetry.ts";
import { until } from "../../../support/until.ts";

test.for([
  [7n, 7],
  [2n ** 60n + 1n, "1152921504606846977"],
] as const)("the log has the exact fencing token of a lease, %s", async ([token, logged]) => {
  const fields: (LogFields | undefined)[] = [];
  const telemetry = new Telemetry({ log: (_level, _message, these) => fields.push(these) });
  telemetry.late({ lockName: "etl", token } as HeldLease);
  await until(() => fields.length > 0);
  expect(fields).toEqual([{ lock: "etl", fencingToken: logged }]);
});
