// Fencing tokens: no two claims of a lock have the same, and a request that began after a grant was told gets a higher one.
// One request id is one claim.

import type { History } from "../history/history.ts";
import type { Breach } from "./breach.ts";

interface Grant {
  readonly lock: string;
  readonly who: string;
  readonly requestId: string;
  readonly token: bigint;
  readonly startMs: number;
  readonly endMs: number;
}

export function tokens(history: History): Breach[] {
  const breaches: Breach[] = [];
  for (const grants of Map.groupBy(grantsIn(history), ({ lock }) => lock).values()) {
    breaches.push(...repeated(grants), ...fallen(grants));
  }
  return breaches;
}

function grantsIn(history: History): Grant[] {
  const ofLocks = history
    .of("acquire")
    .filter(({ outcome }) => outcome === "granted")
    .map((grant) => ({ ...grant, token: BigInt(grant.token as string) }));
  const ofTasks = history
    .of("take")
    .flatMap(({ taken, ...call }) =>
      taken.map(({ task, token }) => ({ ...call, lock: task, requestId: "", token: BigInt(token) })),
    );
  return [...ofLocks, ...ofTasks];
}

function repeated(grants: readonly Grant[]): Breach[] {
  const breaches: Breach[] = [];
  for (const [token, same] of Map.groupBy(grants, (grant) => grant.token)) {
    const requests = new Set(same.map(({ who, requestId, startMs }) => requestId || `${who}/${startMs}`));
    if (requests.size > 1) {
      const whom = same.map(({ who }) => who).join(" and ");
      breaches.push({ rule: "tokens never repeat", what: `${same[0]?.lock}: ${token} of ${whom}` });
    }
  }
  for (const [requestId, same] of Map.groupBy(grants, (grant) => grant.requestId)) {
    const told = new Set(same.map(({ token }) => token));
    if (requestId !== "" && told.size > 1) {
      breaches.push({
        rule: "one request id is one claim",
        what: `${requestId}: ${[...told].join(" and ")}`,
      });
    }
  }
  return breaches;
}

function fallen(grants: readonly Grant[]): Breach[] {
  const told = [...grants].sort((a, b) => a.endMs - b.endMs);
  const asked = [...grants].sort((a, b) => a.startMs - b.startMs);
  const breaches: Breach[] = [];
  let highest: Grant | undefined;
  let next = 0;
  for (const grant of asked) {
    for (let before = told[next]; before && before.endMs < grant.startMs; before = told[++next]) {
      if (!highest || before.token > highest.token) highest = before;
    }
    const isRepeated = grant.requestId !== "" && grant.requestId === highest?.requestId;
    if (highest && grant.token <= highest.token && !isRepeated) {
      const what = `${grant.lock}: ${grant.token} of ${grant.who} after ${highest.token} of ${highest.who}`;
      breaches.push({ rule: "tokens rise", what });
    }
  }
  return breaches;
}
