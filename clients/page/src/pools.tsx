// Pools: what is used of each, and the tree that they make, in which a narrower pool stands under a wider one.

import type { PoolInForceJson, PoolUseJson } from "#proto/rowlock/v1/lock_pb.js";
import type { LimitSettingJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { Chip, Name, Text } from "./parts.tsx";
import { prefixHash } from "./route.ts";
import { counted, depthsOf, rateWords } from "./words.ts";

/** How much of the pool is taken, as numbers and as a bar. `limit` undefined: it has only a rate. */
export function PoolUsed({ limit, use = {} }: { limit: number | undefined; use: PoolUseJson | undefined }) {
  const taken = Number(use.heldPermits ?? 0);
  const share = limit === undefined ? 0 : Math.min(1, taken / Math.max(1, limit));
  return (
    <span class="held">
      <span>{limit === undefined ? taken : `${taken} / ${limit}`}</span>
      {limit === undefined ? null : (
        <span class={`meter ${use.draining ? "over" : ""}`} aria-hidden="true">
          <span style={{ width: `${taken === 0 ? 0 : share * 100}%` }} />
        </span>
      )}
    </span>
  );
}

/** What is out of the ordinary of it. */
export function PoolChips({ limit, use = {} }: { limit: number | undefined; use: PoolUseJson | undefined }) {
  return (
    <>
      {limit === 0 ? <Chip kind="bad">paused</Chip> : null}
      {use.draining ? <Chip kind="warn">drains</Chip> : null}
      {use.counting ? <Chip>counts earlier holders</Chip> : null}
    </>
  );
}

interface PoolsTableProps {
  /** In byte order, so that each stands behind those over it. */
  readonly pools: readonly LimitSettingJson[];
  /** Whether the caller may change each of them. */
  readonly mayChange: readonly boolean[];
  readonly onChange: (pool: LimitSettingJson) => void;
}

export function PoolsTable({ pools, mayChange, onChange }: PoolsTableProps) {
  const depths = depthsOf(pools.map(({ pool = "" }) => pool));
  return (
    <section aria-labelledby="pools">
      <h2 id="pools">Pools</h2>
      <p class="dim">
        A pool counts all names under it together. A claim takes its own lock first, then each pool over it,
        narrow to wide, and waits at the first one without room.
      </p>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Pool</th>
              <th scope="col" class="c-held">
                Taken
              </th>
              <th scope="col" class="number c-limit">
                Waiting
              </th>
              <th scope="col" class="wide">
                Rate
              </th>
              <th scope="col" class="wide">
                Why
              </th>
              <th scope="col" class="c-act">
                <span class="sr">What you can do</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {pools.map((setting, at) => (
              <PoolRow
                key={setting.pool}
                setting={setting}
                depth={depths[at] ?? 0}
                onChange={mayChange[at] ? onChange : null}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface PoolRowProps {
  readonly setting: LimitSettingJson;
  /** How many pools are over it. */
  readonly depth: number;
  /** null: the caller may not. */
  readonly onChange: ((pool: LimitSettingJson) => void) | null;
}

function PoolRow({ setting, depth, onChange }: PoolRowProps) {
  const { pool = "", rate, rateOnly, use, reason = "" } = setting;
  const limit = rateOnly ? undefined : (setting.limit ?? 0);
  return (
    <tr>
      <td>
        <span class="branch wraps" style={{ paddingLeft: `${depth * 14}px` }}>
          <a href={prefixHash(pool.slice(0, -1))}>
            <Name text={pool} />
          </a>{" "}
          <PoolChips limit={limit} use={use} />
        </span>
        {rate ? <span class="under narrow">{rateWords(rate)}</span> : null}
        <span class="under narrow wraps">
          <Text text={reason} />
        </span>
      </td>
      <td class="c-held">
        <PoolUsed limit={limit} use={use} />
      </td>
      <td class="number">{use?.waiterCount ?? 0}</td>
      <td class="wide">
        {rate ? (
          <>
            {rateWords(rate)}
            <span class="under dim">{counted(use?.available ?? 0, "permit")} may be taken now</span>
          </>
        ) : null}
      </td>
      <td class="wide wraps">
        <Text text={reason} />
      </td>
      <td class="c-act">
        {onChange ? (
          <button type="button" class="small" onClick={() => onChange(setting)}>
            Change…<span class="sr"> the pool {pool}</span>
          </button>
        ) : null}
      </td>
    </tr>
  );
}

/** The pools over one lock, narrow to wide. */
export function PoolsOver({ pools }: { pools: readonly PoolInForceJson[] }) {
  return (
    <>
      {pools.map(({ pattern = "", limit, rate, use }) => (
        <span class="pool" key={pattern}>
          <a href={prefixHash(pattern.slice(0, -1))}>
            <Name text={pattern} />
          </a>{" "}
          <PoolUsed limit={limit ? (limit.permits ?? 0) : undefined} use={use} />{" "}
          <span class="dim">{use?.waiterCount ?? 0} waiting</span>{" "}
          <PoolChips limit={limit ? (limit.permits ?? 0) : undefined} use={use} />
          {rate?.rate ? (
            <span class="under dim">
              {rateWords(rate.rate)}; {counted(use?.available ?? 0, "permit")} may be taken now
            </span>
          ) : null}
        </span>
      ))}
    </>
  );
}

interface AtPoolProps {
  /** undefined: there is no such pool yet. */
  readonly use: PoolUseJson | undefined;
  /** null: it would stay as it is. */
  readonly limit: number | null;
}

/** What would follow if its limit were this. */
export function WhatFollowsAtPool({ use, limit }: AtPoolProps) {
  const [taken, waiting] = [Number(use?.heldPermits ?? 0), use?.waiterCount ?? 0];
  const free = (limit ?? 0) - taken;
  return (
    <div class="follows" role="status">
      <h3>What probably follows</h3>
      {use === undefined ? (
        <p>Those who hold locks under it are counted within seconds. No lease is ended by that.</p>
      ) : limit === null ? (
        <p>
          {counted(taken, "permit")} stay taken, and {counted(waiting, "claim")} may go on as the pool allows.
        </p>
      ) : free < 0 ? (
        <p>{counted(-free, "permit")} would have to drain first. No lease is ended by that.</p>
      ) : (
        <p>
          {counted(free, "permit")} would be free for the {counted(waiting, "claim")} waiting there.
        </p>
      )}
    </div>
  );
}
