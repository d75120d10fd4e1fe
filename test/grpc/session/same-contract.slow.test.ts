// Runs the scenarios of unary calls and streams again over a session: a verb means the same on every transport.

import { describe } from "vitest";
import { useClients } from "../../support/harness.ts";
import { SessionClient } from "../../support/session-client.ts";

useClients((address) => new SessionClient(address));

describe("Acquire", async () => void (await import("../methods/acquire.test.ts")));
describe("WaitInQueue", async () => void (await import("../methods/wait-in-queue.test.ts")));
describe("WatchLocks", async () => void (await import("../methods/watch-locks.test.ts")));
describe("open watches", async () => void (await import("../watch-bounds.test.ts")));
describe("Capture", async () => void (await import("../methods/capture.test.ts")));
describe("the other verbs", async () => void (await import("../methods/verbs.test.ts")));
describe("the past and waits", async () => void (await import("../methods/history.test.ts")));
describe("records", async () => void (await import("../methods/records.test.ts")));
describe("failures", async () => void (await import("../failures.test.ts")));
