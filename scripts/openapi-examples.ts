// A request of each verb, as it stands in openapi.json. A test sends them in this order.

/** Stands for the id of the lease that the example before got. */
export const LEASE_ID = "2.1.ngDR9uWwqVoh_qNhy481aQ";

export const EXAMPLES: Readonly<Record<string, object>> = {
  Acquire: { name: "etl/load", terms: { ttl: "60s", owner: "night shift" }, wait: { maxWait: "600s" } },
  Renew: { leaseId: LEASE_ID },
  ExplainWait: { name: "etl/load" },
  GetLock: { name: "etl/load" },
  Release: { leaseId: LEASE_ID },
  WaitInQueue: { request: { name: "etl/queue", terms: { ttl: "60s" } } },
  Capture: { prefix: "etl/", maxLeases: 2, terms: { ttl: "60s" } },
  ListLocks: { prefix: "etl/" },
  ListClaims: { lockName: "etl/load" },
  ForceRelease: { name: "etl/queue", reason: "its job hangs" },
  SetLimit: { pattern: "gpu/*", limit: 4, reason: "four cards" },
  ListLimits: {},
  ListChanges: {},
  UpdateRecord: { name: "etl/load", attemptsLeft: 3, reason: "to be loaded again" },
  WatchLocks: { prefix: "etl/" },
  DeleteRecord: { name: "etl/load", reason: "is not needed any more" },
};
