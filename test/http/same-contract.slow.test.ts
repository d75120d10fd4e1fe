// Runs the scenarios of unary calls and streams again over HTTP: a verb means the same on every transport.

import { describe } from "vitest";
import { useClients } from "../support/harness.ts";
import { HttpClient } from "../support/http-client.ts";

useClients((address, grpc) => new HttpClient(address, grpc));

describe("Acquire", async () => void (await import("../grpc/methods/acquire.test.ts")));
describe("WaitInQueue", async () => void (await import("../grpc/methods/wait-in-queue.test.ts")));
describe("WatchLocks", async () => void (await import("../grpc/methods/watch-locks.test.ts")));
describe("Capture", async () => void (await import("../grpc/methods/capture.test.ts")));
describe("the other verbs", async () => void (await import("../grpc/methods/verbs.test.ts")));
describe("the past and waits", async () => void (await import("../grpc/methods/history.test.ts")));
describe("records", async () => void (await import("../grpc/methods/records.test.ts")));
describe("several locks", async () => void (await import("../grpc/methods/sets.test.ts")));
describe("queue rules", async () => void (await import("../grpc/methods/queue-rules.test.ts")));
describe("failures", async () => void (await import("../grpc/failures.test.ts")));
