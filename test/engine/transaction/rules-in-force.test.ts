// A change of a limit by pattern is answered once no server decides by older rules.

import { afterEach, expect, test, vi } from "vitest";
import { RULES_AWAITED_MS } from "../../../server/engine/engine-bounds.ts";
import { RulesInForce } from "../../../server/engine/transaction/rules-in-force.ts";
import type { RegisteredReplica } from "../../../server/storage/store.ts";
import { NO_CHANGES, NO_PLAN } from "../../support/store-fixture.ts";

afterEach(() => void vi.useRealTimers());

const OWN = 1n;
const NOW_US = 100;

function scene() {
  const replicas: RegisteredReplica[] = [];
  const said: bigint[] = [];
  const begun: PromiseWithResolvers<void>[] = [];
  let asked = 0;
  const rules = new RulesInForce({
    store: {
      transact() {
        const transaction = Promise.withResolvers<void>();
        begun.push(transaction);
        return transaction.promise;
      },
      async replicas() {
        asked += 1;
        return { nowUs: NOW_US, replicas: [...replicas] };
      },
    },
    replica: OWN,
    onInForce: () => said.push(rules.revision),
  });
  const register = (id: bigint, rulesRevision: bigint, deadlineUs = NOW_US + 1) => {
    const row = { id, rulesRevision, deadlineUs, sinceUs: 0, address: "", version: "", secret: "" };
    replicas.splice(0, replicas.length, ...replicas.filter((replica) => replica.id !== id), row);
  };
  const begin = () => {
    const transaction = rules.transact(NO_PLAN, () => NO_CHANGES).catch(() => {});
    const { resolve, reject } = begun.at(-1) as PromiseWithResolvers<void>;
    return { transaction, resolve, reject };
  };
  return { rules, said, begin, register, asked: () => asked };
}

const turn = () => new Promise(setImmediate);

test("rules are in force when all transactions are over that began before they were seen, however they end", async () => {
  const { rules, said, begin } = scene();
  const [first, second] = [begin(), begin()];
  rules.saw(7n);
  const later = begin();
  await turn();
  first.resolve();
  await turn();
  expect(said).toEqual([]);
  second.reject(new Error("A fault made by a test."));
  await turn();
  expect(said).toEqual([7n]);
  later.resolve();
  await turn();
  rules.saw(7n);
  await turn();
  expect(said).toEqual([7n]);
});

test("rules that change again and again come into force one after the other, and never go back", async () => {
  const { rules, said, begin } = scene();
  const first = begin();
  rules.saw(7n);
  const second = begin();
  rules.saw(8n);
  first.resolve();
  await turn();
  expect(said).toEqual([7n]);
  second.resolve();
  await turn();
  expect(said).toEqual([7n, 8n]);
  // Rows that were set back have an earlier revision.
  rules.saw(3n);
  await turn();
  expect(rules.revision).toBe(3n);
});

test("a change is everywhere when each server that is there has said so, and this one has no older decision", async () => {
  const { rules, begin, register, asked } = scene();
  register(OWN, -1n);
  register(2n, 7n);
  register(3n, 8n);
  register(4n, -1n, NOW_US);
  const own = begin();
  let behind: number | undefined;
  const everywhere = rules.everywhereAfter(7n).then((count) => {
    behind = count;
  });
  await turn();
  expect(asked()).toBe(0);
  own.resolve();
  while (asked() < 2) await turn();
  expect(behind).toBeUndefined();
  register(2n, 8n);
  await everywhere;
  expect(behind).toBe(0);
});

test("servers that do not say so are counted after a while", async () => {
  vi.useFakeTimers();
  const { rules, register } = scene();
  register(2n, 7n);
  register(3n, -1n);
  const everywhere = rules.everywhereAfter(7n);
  await vi.advanceTimersByTimeAsync(RULES_AWAITED_MS * 2);
  expect(await everywhere).toBe(2);
});
