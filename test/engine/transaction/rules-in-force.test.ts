// A change of a limit by pattern is answered once no server decides by older rules.

import { afterEach, expect, test, vi } from "vitest";
import { RULES_AWAITED_MS } from "../../../server/engine/engine-bounds.ts";
import { CheckedStore } from "../../../server/engine/transaction/checked-store.ts";
import { RulesInForce } from "../../../server/engine/transaction/rules-in-force.ts";
import { REPLICA_KEPT_US, type RegisteredReplica } from "../../../server/storage/store.ts";
import { turn } from "../../support/scripted-transactions.ts";
import { NO_CHANGES, NO_PLAN } from "../../support/store-fixture.ts";

afterEach(() => void vi.useRealTimers());

const OWN = 1n;
const NOW_US = 100;
const ENTRY = { id: OWN, address: "here:1", version: "1", secret: "own" };

function scene() {
  const replicas: RegisteredReplica[] = [];
  const said: bigint[] = [];
  const begun: PromiseWithResolvers<void>[] = [];
  let asked = 0;
  const store = {
    transact() {
      begun.push(Promise.withResolvers());
      return begun.at(-1)?.promise as Promise<void>;
    },
    failOver: () => Promise.reject(new Error("No fail-over is expected.")),
    levelMin: () => Promise.reject(new Error("No level is expected.")),
  };
  const checked = new CheckedStore(store, { pauseUs: null, onFailOver() {} });
  const rules = new RulesInForce({
    checked,
    store: {
      async replicas() {
        asked += 1;
        return { nowUs: NOW_US, replicas: [...replicas] };
      },
      async register(entry, keptUs, rulesRevision) {
        expect([entry, keptUs]).toEqual([ENTRY, REPLICA_KEPT_US]);
        said.push(rulesRevision);
      },
    },
    entry: ENTRY,
    onFailure: () => {},
  });
  const register = (id: bigint, rulesRevision: bigint, deadlineUs = NOW_US + 1) => {
    const row = { id, rulesRevision, deadlineUs, level: 0, sinceUs: 0, address: "", version: "", secret: "" };
    replicas.splice(0, replicas.length, ...replicas.filter((replica) => replica.id !== id), row);
  };
  const begin = () => {
    const transaction = checked.transact(NO_PLAN, () => NO_CHANGES).catch(() => {});
    const { resolve, reject } = begun.at(-1) as PromiseWithResolvers<void>;
    return { transaction, resolve, reject };
  };
  return { rules, said, begin, register, asked: () => asked };
}

test("rules are in force when all transactions from before they were seen are over, however they end", async () => {
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

test("the register has the rules in force whenever the entry is renewed", async () => {
  const { rules, said } = scene();
  await rules.register();
  rules.saw(7n);
  await turn();
  await rules.register();
  expect(said).toEqual([-1n, 7n, 7n]);
});

test("an entry that says something new arrives after the older ones, and the same entry waits for none", async () => {
  const arrived: string[] = [];
  const begun: (() => void)[] = [];
  const entry = { ...ENTRY, address: "here:0" };
  const store = {
    replicas: () => Promise.reject(new Error("No read is expected.")),
    register({ address }: typeof ENTRY): Promise<void> {
      return new Promise((resolve) => begun.push(() => resolve(void arrived.push(address))));
    },
  };
  const checked = { drained: async () => {} };
  const rules = new RulesInForce({ checked, store, entry, onFailure: () => {} });
  const first = [rules.register(), rules.register()];
  await turn();
  expect(begun).toHaveLength(2);
  entry.address = "here:1";
  const second = rules.register();
  begun[1]?.();
  await turn();
  expect(begun).toHaveLength(2);
  begun[0]?.();
  await turn();
  begun[2]?.();
  await Promise.all([...first, second]);
  expect(arrived).toEqual(["here:0", "here:0", "here:1"]);
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
  expect(said.at(-1)).toBe(3n);
});

test("a change is complete when each live server has confirmed it, and this one has no older decision", async () => {
  const { rules, begin, register, asked } = scene();
  register(OWN, -1n);
  register(2n, 7n);
  register(3n, 8n);
  register(4n, -1n, NOW_US);
  const own = begin();
  const told = vi.fn();
  const everywhere = rules.everywhereAfter(7n).then(told);
  await turn();
  expect(asked()).toBe(0);
  own.resolve();
  while (asked() < 2) await turn();
  expect(told).not.toHaveBeenCalled();
  register(2n, 8n);
  await everywhere;
  expect(told).toHaveBeenCalledWith(0);
});

test("a server that does not confirm it is counted after a while", async () => {
  vi.useFakeTimers();
  const { rules, register } = scene();
  register(2n, 7n);
  register(3n, -1n);
  const everywhere = rules.everywhereAfter(7n);
  await vi.advanceTimersByTimeAsync(RULES_AWAITED_MS * 2);
  expect(await everywhere).toBe(2);
});
