// Watching locks: over a session, and by unary calls if a proxy lets no session through.

import { describe, expect, test } from "vitest";
import type { RowlockError } from "../../../clients/typescript/src/index.ts";
import { startRefusingProxy } from "../../support/refusing-proxy.ts";
import { afterwards, client, start } from "./stage.ts";

describe("a watch", () => {
  test("is refused if a proxy lets none through", async () => {
    const server = await start();
    const proxy = await startRefusingProxy(server.address, "UNIMPLEMENTED", ["Session", "WatchLocks"]);
    afterwards(() => proxy.close());
    const error = await client(proxy.address)
      .watchLocks()
      .next()
      .catch((why: RowlockError) => why);
    expect(error).toMatchObject({ reason: "UNKNOWN", code: "UNIMPLEMENTED" });
  });
});
