// The terms of leases and places that outlast any test.

/** With this owner; 3,600 s. */
export function lasting(owner = "") {
  return { owner, lasting: { case: "ttl", value: { seconds: 3_600n, nanos: 0 } } } as const;
}
