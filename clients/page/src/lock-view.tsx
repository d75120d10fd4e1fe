// One lock: what it is, why its first waiter waits, who holds it, who waits in which place, who had it when, and what
// was changed.

import { useState } from "preact/hooks";
import type { ClaimJson, LastRunJson, LockJson } from "#proto/rowlock/v1/lock_pb.js";
import type { ExplainWaitResponseJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { call, type Rights } from "./api.ts";
import { ChangeTable } from "./changes-view.tsx";
import { useFollowedLocks } from "./followed-locks.ts";
import { ForceReleaseDialog } from "./force-release-dialog.tsx";
import { HistoryBars } from "./history-bars.tsx";
import { LimitDialog } from "./limit-dialog.tsx";
import { Also, Chip, Held, LockLink, Name, Owner, Text, Trouble, useAsked, useNowMs } from "./parts.tsx";
import { PoolsOver } from "./pools.tsx";
import { RecordDialog } from "./record-dialog.tsx";
import { useRights } from "./rights.ts";
import { sharesOf } from "./shares.ts";
import { causeWords, estimateWords } from "./wait-causes.ts";
import {
  ageWords,
  clockWords,
  counted,
  endReasonWords,
  instantMs,
  modeWords,
  queueRulesWords,
  rateWords,
  sourceWords,
  timeWords,
} from "./words.ts";

/** The groups that hold most. */
const SHARES_SHOWN = 8;

/** What somebody is about to do. */
type Act = { kind: "limit" } | { kind: "record" } | { kind: "release"; claim: ClaimJson | null };

export function LockView({ name, range }: { name: string; range: string }) {
  const followed = useFollowedLocks(name);
  const row = followed.rows.get(name);
  const [acted, setActed] = useState(0);
  const poke = row ?? acted;
  // Permits of a rate come back without a change of the lock.
  const { value, trouble } = useAsked(() => call("GetLock", { name }), name, { poke, everyMs: 5_000 });
  const rights = useRights(name);
  const [act, setAct] = useState<Act | null>(null);
  const lock = value?.lock;
  const over = () => {
    setAct(null);
    setActed((count) => count + 1);
  };
  return (
    <>
      <p class="way">
        <a href="#/locks">Locks</a>
      </p>
      <div class="title">
        <h1>
          <Name text={name} />
        </h1>
        {lock ? <Buttons lock={lock} rights={rights} onAct={setAct} /> : null}
      </div>
      <Trouble text={trouble} />
      {lock ? (
        <>
          <div class="two">
            <Facts lock={lock} />
            <Why lock={lock} poke={poke} />
          </div>
          <Holders lock={lock} mayEnd={rights.forceRelease} onAct={setAct} />
          <Queue lock={lock} mayEnd={rights.forceRelease} onAct={setAct} />
          <HistoryBars name={name} range={range} poke={poke} />
          <Changes name={name} poke={acted} />
        </>
      ) : null}
      {lock && act?.kind === "limit" ? (
        <LimitDialog setting={null} lock={lock} onClose={() => setAct(null)} onDone={over} />
      ) : null}
      {lock && act?.kind === "record" ? (
        <RecordDialog lock={lock} onClose={() => setAct(null)} onDone={over} />
      ) : null}
      {lock && act?.kind === "release" ? (
        <ForceReleaseDialog lock={lock} claim={act.claim} onClose={() => setAct(null)} onDone={over} />
      ) : null}
    </>
  );
}

function Buttons({ lock, rights, onAct }: { lock: LockJson; rights: Rights; onAct: (act: Act) => void }) {
  const holders = lock.holderCount ?? 0;
  return (
    <span class="buttons">
      {rights.setLimit ? (
        <button type="button" onClick={() => onAct({ kind: "limit" })}>
          Set limit or rate…
        </button>
      ) : null}
      {rights.updateRecord ? (
        <button type="button" onClick={() => onAct({ kind: "record" })}>
          Change record…
        </button>
      ) : null}
      {rights.forceRelease && holders > 1 ? (
        <button type="button" class="danger" onClick={() => onAct({ kind: "release", claim: null })}>
          End all {holders} leases…
        </button>
      ) : null}
    </span>
  );
}

function Facts({ lock }: { lock: LockJson }) {
  const nowMs = useNowMs();
  const { limit = {}, rate, queueRules, record, waiterCount: waiting = 0, pools = [] } = lock;
  const shares = sharesOf(lock);
  const { notBefore, attemptsLeft, status, lastRun, lastSuccess, failures = 0 } = record ?? {};
  return (
    <section class="panel" aria-label="State">
      <dl class="facts">
        <dt>Held</dt>
        <dd>
          <Held lock={lock} /> {lock.draining ? "more than the limit allows, so it drains" : null}
        </dd>
        <dt>Waiting</dt>
        <dd>{waiting}</dd>
        <dt>Limit</dt>
        <dd>
          <strong>{limit.permits ?? 0}</strong> <span class="dim">{sourceWords(limit)}</span>
          {limit.reason ? (
            <span class="under">
              “<Text text={limit.reason} />”
            </span>
          ) : null}
        </dd>
        {rate ? (
          <>
            <dt>Rate</dt>
            <dd>
              <strong>{rateWords(rate.rate ?? {})}</strong> <span class="dim">{sourceWords(rate)}</span>
              <span class="under">{counted(rate.available ?? 0, "permit")} may be taken now</span>
              {rate.reason && rate.reason !== limit.reason ? (
                <span class="under">
                  “<Text text={rate.reason} />”
                </span>
              ) : null}
            </dd>
          </>
        ) : null}
        {queueRules ? (
          <>
            <dt>Queue</dt>
            <dd>
              <strong>{queueRulesWords(queueRules.rules ?? {})}</strong>{" "}
              <span class="dim">{sourceWords(queueRules)}</span>
              {queueRules.reason && queueRules.reason !== limit.reason ? (
                <span class="under">
                  “<Text text={queueRules.reason} />”
                </span>
              ) : null}
            </dd>
          </>
        ) : null}
        {shares.length > 0 ? (
          <>
            <dt>Shares</dt>
            <dd>
              {shares.slice(0, SHARES_SHOWN).map(({ group, heldPermits, waiting: others }) => (
                <span class="under" key={group}>
                  <Text text={group} /> holds {counted(heldPermits, "permit")}, {others} waiting
                </span>
              ))}
              {shares.length > SHARES_SHOWN ? (
                <span class="under dim">and {counted(shares.length - SHARES_SHOWN, "more group")}</span>
              ) : null}
            </dd>
          </>
        ) : null}
        {pools.length > 0 ? (
          <>
            <dt>Pools</dt>
            <dd>
              <PoolsOver pools={pools} />
            </dd>
          </>
        ) : null}
        <dt>Last token</dt>
        <dd>{lock.lastFencingToken ?? "none yet"}</dd>
        {record ? (
          <>
            <dt>Status</dt>
            <dd>
              {status ? (
                <Chip>
                  <Text text={status} />
                </Chip>
              ) : (
                "none"
              )}
            </dd>
            {notBefore ? (
              <>
                <dt>Not before</dt>
                <dd>
                  {clockWords(instantMs(notBefore))} <span class="dim">{dueWords(notBefore, nowMs)}</span>
                </dd>
              </>
            ) : null}
            {attemptsLeft === undefined ? null : (
              <>
                <dt>Attempts left</dt>
                <dd>{attemptsLeft}</dd>
              </>
            )}
            {lastRun ? (
              <>
                <dt>Last run</dt>
                <dd>
                  <RunWords run={lastRun} />
                </dd>
              </>
            ) : null}
            {failures > 0 ? (
              <>
                <dt>Failures</dt>
                <dd>
                  <Chip kind="bad">{failures} in a row</Chip>
                </dd>
                <dt>Last success</dt>
                <dd>{lastSuccess ? <RunWords run={lastSuccess} /> : "none is known"}</dd>
              </>
            ) : null}
          </>
        ) : null}
      </dl>
    </section>
  );
}

function RunWords({ run: { owner, fencingToken, endReason, grantedAt, endedAt } }: { run: LastRunJson }) {
  const at = endedAt ? ` at ${clockWords(instantMs(endedAt))}` : "";
  const after = grantedAt && endedAt ? ` after ${timeWords(instantMs(endedAt) - instantMs(grantedAt))}` : "";
  return (
    <>
      {owner ? <Text text={owner} /> : "no owner named"}
      <span class="dim"> token {fencingToken}</span>
      <span class="under dim">{`${endReasonWords(endReason)}${at}${after}`}</span>
    </>
  );
}

function dueWords(notBefore: string, nowMs: number): string {
  const inMs = instantMs(notBefore) - nowMs;
  return inMs > 0 ? `in ${ageWords(inMs)}` : `due for ${ageWords(-inMs)}`;
}

/** Why the first waiter waits; or, if nobody waits, what a request would meet. */
function Why({ lock, poke }: { lock: LockJson; poke: unknown }) {
  const { name = "", waiters = [] } = lock;
  const ticketNumber = waiters[0]?.ticketNumber;
  const request = ticketNumber === undefined ? { name } : { claim: { lockName: name, ticketNumber } };
  const key = `${name}#${ticketNumber ?? ""}`;
  const { value } = useAsked(() => call("ExplainWait", request), key, {
    poke,
    pauseMs: 2_000,
    everyMs: 10_000,
  });
  return (
    <section class="panel" aria-labelledby="why">
      <h2 id="why">{ticketNumber === undefined ? "A request now" : "Why the first waiter waits"}</h2>
      {value ? <Explanation explanation={value} lock={lock} /> : null}
    </section>
  );
}

function Explanation({ explanation, lock }: { explanation: ExplainWaitResponseJson; lock: LockJson }) {
  const nowMs = useNowMs();
  const end = firstEndOf(lock);
  const { causes = [], summary = "", estimate } = explanation;
  const isWaiter = explanation.claim !== undefined;
  if (causes.length === 0)
    return <p>{isWaiter ? <Text text={summary} /> : "A request for one permit would be granted at once."}</p>;
  return (
    <>
      <ul class="causes">
        {causes.map((cause, at) => (
          <li key={at}>
            {cause.lockName ? (
              <>
                <LockLink name={cause.lockName} />:{" "}
              </>
            ) : null}
            {causeWords(cause, nowMs, (cause.lockName ?? lock.name) === lock.name ? end : undefined)}
          </li>
        ))}
      </ul>
      {estimate ? <p class="dim">{estimateWords(estimate)}</p> : null}
    </>
  );
}

/** When the first lease ends, as the table of holders shows it; undefined: the table does not show all. */
function firstEndOf({ holders = [], holderCount = 0 }: LockJson): string | null | undefined {
  if (holders.length < holderCount || holders.length === 0) return undefined;
  const ends = holders.flatMap(({ expiresAt }) => expiresAt ?? []);
  return ends.sort((a, b) => instantMs(a) - instantMs(b))[0] ?? null;
}

interface ClaimsProps {
  readonly lock: LockJson;
  readonly mayEnd: boolean;
  readonly onAct: (act: Act) => void;
}

function Holders({ lock, mayEnd, onAct }: ClaimsProps) {
  const nowMs = useNowMs();
  const { holders = [], holderCount = 0 } = lock;
  return (
    <section aria-labelledby="holders">
      <h2 id="holders">
        Holders <span class="dim">{holderCount}</span>
      </h2>
      {holders.length === 0 ? (
        <p class="empty">{holderCount === 0 ? "Nobody holds it." : "You may not see who holds it."}</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col" class="c-ticket wide">
                  Ticket
                </th>
                <th scope="col">Owner</th>
                <th scope="col" class="c-takes wide">
                  Holds
                </th>
                <th scope="col" class="number c-time">
                  For
                </th>
                <th scope="col" class="number c-time">
                  Ends in
                </th>
                <th scope="col" class="number c-token wide">
                  Token
                </th>
                {mayEnd ? (
                  <th scope="col" class="c-act">
                    <span class="sr">What you can do</span>
                  </th>
                ) : null}
              </tr>
            </thead>
            <tbody>
              {holders.map((claim) => (
                <tr key={claim.ticketNumber}>
                  <td class="dim wide">#{claim.ticketNumber}</td>
                  <td>
                    <Owner claim={claim} />
                    {claim.provisional ? <span class="dim"> granted, not confirmed yet</span> : null}
                    <Also claim={claim} />
                    <Under claim={claim} />
                  </td>
                  <td class="wide">{modeWords(claim)}</td>
                  <td class="number">
                    {claim.grantedAt ? ageWords(nowMs - instantMs(claim.grantedAt)) : ""}
                  </td>
                  <td class="number">
                    {claim.expiresAt ? ageWords(Math.max(0, instantMs(claim.expiresAt) - nowMs)) : "no end"}
                  </td>
                  <td class="number wide">{claim.fencingToken}</td>
                  {mayEnd ? <EndCell claim={claim} word="End…" onAct={onAct} /> : null}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More count={holderCount - holders.length} />
    </section>
  );
}

function Queue({ lock, mayEnd, onAct }: ClaimsProps) {
  const nowMs = useNowMs();
  const { waiters = [], waiterCount: waiting = 0 } = lock;
  if (waiting === 0) return null;
  // They come first: nobody is behind them in the queue of this lock.
  const entering = waiters.filter(({ pool }) => pool).length;
  return (
    <section aria-labelledby="queue">
      <h2 id="queue">
        Queue <span class="dim">{waiting}</span>
      </h2>
      {waiters.length === 0 ? (
        <p class="empty">You may not see who waits.</p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col" class="c-ticket">
                  Place
                </th>
                <th scope="col">Owner</th>
                <th scope="col" class="c-takes wide">
                  Wants
                </th>
                <th scope="col" class="number c-time">
                  Waits for
                </th>
                <th scope="col" class="c-time number wide">
                  Ticket
                </th>
                {mayEnd ? (
                  <th scope="col" class="c-act">
                    <span class="sr">What you can do</span>
                  </th>
                ) : null}
              </tr>
            </thead>
            <tbody>
              {waiters.map((claim, at) => (
                <tr key={claim.ticketNumber}>
                  <td>{claim.pool ? <span class="dim">at a pool</span> : `${at + 1 - entering}.`}</td>
                  <td>
                    <Owner claim={claim} />
                    {claim.pool ? (
                      <span class="under">
                        has this lock, and waits at the pool <Name text={claim.pool} />
                      </span>
                    ) : null}
                    <Also claim={claim} />
                    <Under claim={claim} />
                  </td>
                  <td class="wide">{modeWords(claim)}</td>
                  <td class="number">
                    {claim.requestedAt ? ageWords(nowMs - instantMs(claim.requestedAt)) : ""}
                  </td>
                  <td class="dim number wide">#{claim.ticketNumber}</td>
                  {mayEnd ? <EndCell claim={claim} word="Remove…" onAct={onAct} /> : null}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More count={waiting - waiters.length} />
    </section>
  );
}

/** What stands in columns of its own where there is room. */
function Under({ claim }: { claim: ClaimJson }) {
  return (
    <span class="under narrow">
      #{claim.ticketNumber}, {modeWords(claim)}
    </span>
  );
}

function EndCell({ claim, word, onAct }: { claim: ClaimJson; word: string; onAct: (act: Act) => void }) {
  return (
    <td class="c-act">
      <button type="button" class="small" onClick={() => onAct({ kind: "release", claim })}>
        {word}
        <span class="sr"> the claim #{claim.ticketNumber}</span>
      </button>
    </td>
  );
}

function More({ count }: { count: number }) {
  return count > 0 ? <p class="dim">and {counted(count, "other")}</p> : null;
}

function Changes({ name, poke }: { name: string; poke: unknown }) {
  const { value } = useAsked(() => call("ListChanges", { lockName: name, pageSize: 10 }), name, {
    poke,
    everyMs: 10_000,
  });
  const changes = value?.changes ?? [];
  return changes.length === 0 ? null : (
    <section aria-labelledby="changes">
      <h2 id="changes">Changes</h2>
      <ChangeTable changes={changes} isOneLock />
    </section>
  );
}
