// Certificates and policies that are exchanged while everything runs.

import { setTimeout as sleep } from "node:timers/promises";
import { BareCalls, RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { monotonicMs } from "../history/clock.ts";
import type { House } from "../house/house.ts";
import { oneOf } from "../work/run.ts";
import { type Fault, SHORT_MS } from "./fault.ts";

/** A server reads its files three times a second, and believes what it has read twice. */
const READ_MS = 2_000;
/** For that on a busy machine. */
const READ_MS_MAX = 20_000;
const LOOK_EVERY_MS = 50;

const otherCertificate: Fault = {
  name: "the servers' certificate is exchanged",
  needs: "nothing",
  async strike({ papers, clientLines }, chance) {
    papers.exchangeCertificate();
    await sleep(READ_MS);
    // New connections are shown the new one.
    const line = oneOf(clientLines, chance);
    line.cut();
    line.heal();
  },
};

const oneRuleMore: Fault = {
  name: "the policy gets another rule",
  needs: "nothing",
  async strike({ papers }) {
    papers.addRule();
    await sleep(READ_MS);
  },
};

const noRights: Fault = {
  name: "a client's rights are taken away and given back",
  needs: "nothing",
  async strike(house, chance, history) {
    const { papers, clients } = house;
    const client = oneOf(clients, chance);
    const who = client.name;
    const startMs = monotonicMs();
    papers.takeRights(who);
    await decidedBy(house, who, false);
    const deniedFromMs = monotonicMs();
    await sleep(SHORT_MS);
    const deniedUntilMs = monotonicMs();
    papers.giveRights(who);
    await decidedBy(house, who, true);
    history.add({ did: "revoke", who, startMs, deniedFromMs, deniedUntilMs, endMs: monotonicMs() });
    await client.watchAnew();
  },
};

/** Returns when all servers decide by a policy that gives the client its rights, or none. */
async function decidedBy({ papers, servers }: House, who: string, isAllowed: boolean): Promise<void> {
  const tls = { ca: { file: papers.caFile }, serverName: "localhost" };
  const headers = { authorization: `Bearer ${papers.tokenOf(who)}` };
  const untilMs = monotonicMs() + READ_MS_MAX;
  for (const { address } of servers) {
    using calls = new BareCalls(address, { tls, headers });
    while ((await mayRead(calls)) !== isAllowed) {
      if (monotonicMs() > untilMs) throw new Error(`${address} does not read its policy again.`);
      await sleep(LOOK_EVERY_MS);
    }
  }
}

async function mayRead(calls: BareCalls): Promise<boolean> {
  try {
    await calls.call("getLock", { name: "any" }, { timeout: READ_MS_MAX });
    return true;
  } catch (error) {
    if (error instanceof RowlockError && error.code === "PERMISSION_DENIED") return false;
    throw error;
  }
}

export const PAPER_FAULTS: readonly Fault[] = [otherCertificate, oneRuleMore, noRights];
