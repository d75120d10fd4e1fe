// The history of a lock as bars over time: a row for each claim, the newest first, with its wait and
// then its lease.

import { useRef } from "preact/hooks";
import type { ClaimJson } from "#proto/rowlock/v1/lock_pb.js";
import { call } from "./api.ts";
import { serverNowMs } from "./connection.ts";
import { Text, Trouble, useAsked, useNowMs } from "./parts.tsx";
import { setOption } from "./route.ts";
import { marksOf } from "./time-axis.ts";
import {
  ageWords,
  alsoWords,
  beginWords,
  clockWords,
  counted,
  endWords,
  instantMs,
  timeWords,
  whoWords,
} from "./words.ts";

const MIN_MS = 60_000;
/** Keys as they stand in a link. */
const RANGES: Readonly<Record<string, { readonly words: string; readonly ms: number | null }>> = {
  "": { words: "the last 20 claims", ms: null },
  "10m": { words: "the last 10 minutes", ms: 10 * MIN_MS },
  "1h": { words: "the last hour", ms: 60 * MIN_MS },
  "6h": { words: "the last 6 hours", ms: 360 * MIN_MS },
  "1d": { words: "the last day", ms: 1_440 * MIN_MS },
  "7d": { words: "the last 7 days", ms: 10_080 * MIN_MS },
};
const FEW = 20;
const MANY = 200;
/** A shorter time is drawn as this one, so that the axis has a time. */
const SPAN_MS_MIN = 10_000;

export function HistoryBars({ name, range, poke }: { name: string; range: string; poke: unknown }) {
  const { ms } = RANGES[range] ?? { ms: null };
  const ask = () =>
    call("ListClaims", {
      lockName: name,
      pageSize: ms === null ? FEW : MANY,
      ...(ms === null ? {} : { from: new Date(serverNowMs() - ms).toISOString() }),
    });
  const options = { poke, pauseMs: 1_500, everyMs: 15_000 };
  const { value, trouble } = useAsked(ask, `${name}\n${range}`, options);
  const claims = [...(value?.claims ?? [])].sort((a, b) => Number(b.ticketNumber) - Number(a.ticketNumber));
  const begin = beginWords(value?.completeFrom, ms === null ? 0 : serverNowMs() - ms);
  return (
    <section aria-labelledby="history">
      <h2 id="history">
        History
        <label class="in-head">
          <span class="sr">Of which time</span>
          <select value={range} onChange={(event) => setOption("range", event.currentTarget.value)}>
            {Object.entries(RANGES).map(([key, { words }]) => (
              <option key={key} value={key}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <Legend />
      </h2>
      <Trouble text={trouble} />
      {claims.length > 0 ? (
        <Bars claims={claims} rangeMs={ms} />
      ) : value ? (
        <p class="empty">No claims in this time.</p>
      ) : null}
      {begin === "" || (ms === null && claims.length > 0) ? null : <p class="dim">{begin}</p>}
      {value?.nextPageToken && ms !== null ? (
        <p class="dim">Older claims of this time are not drawn.</p>
      ) : null}
    </section>
  );
}

function Legend() {
  return (
    <span class="legend">
      {[
        ["waits", "waited"],
        ["holds now", "holds now"],
        ["holds", "held"],
        ["spent", "spent"],
        ["lost", "lost: expired or force released"],
      ].map(([kind, words]) => (
        <span key={kind}>
          <svg width="14" height="10" aria-hidden="true">
            <rect width="14" height="10" rx="2" class={kind} />
          </svg>
          {words}
        </span>
      ))}
    </span>
  );
}

function Bars({ claims, rangeMs }: { claims: readonly ClaimJson[]; rangeMs: number | null }) {
  const nowMs = useNowMs();
  const box = useRef<HTMLDivElement>(null);
  const starts = claims.map((claim) => startOf(claim, nowMs));
  const fromMs = rangeMs === null ? Math.min(...starts, nowMs - SPAN_MS_MIN) : nowMs - rangeMs;
  const share = (ms: number) => Math.max(0, Math.min(100, ((ms - fromMs) / (nowMs - fromMs)) * 100));
  const isNarrow = (box.current?.clientWidth ?? innerWidth) < 700;
  // A mark at the end has no room for its text.
  const marks = marksOf(fromMs, nowMs, isNarrow ? 3 : 8).filter(({ ms }) => share(ms) < (isNarrow ? 80 : 94));
  return (
    <div class="bars" ref={box}>
      <div class="axis" aria-hidden="true">
        {marks.map(({ ms, text }) => (
          <span key={ms} style={{ left: `${share(ms)}%` }}>
            {text}
          </span>
        ))}
      </div>
      <ol>
        {claims.map((claim) => (
          <BarRow key={claim.ticketNumber} claim={claim} share={share} nowMs={nowMs} />
        ))}
      </ol>
    </div>
  );
}

function startOf({ requestedAt, grantedAt }: ClaimJson, nowMs: number): number {
  const start = requestedAt ?? grantedAt;
  return start ? instantMs(start) : nowMs;
}

/** Ends that a person should see at once. */
const BAD_ENDS = ["END_REASON_FAILED", "END_REASON_EXPIRED", "END_REASON_FORCE_RELEASED"];

interface BarRowProps {
  readonly claim: ClaimJson;
  readonly share: (ms: number) => number;
  readonly nowMs: number;
}

function BarRow({ claim, share, nowMs }: BarRowProps) {
  const start = startOf(claim, nowMs);
  const end = claim.end?.endedAt ? instantMs(claim.end.endedAt) : nowMs;
  const grant = claim.grantedAt ? instantMs(claim.grantedAt) : end;
  const isSpent = claim.end?.reason === "END_REASON_SPENT";
  const isBad = claim.grantedAt !== undefined && BAD_ENDS.includes(claim.end?.reason ?? "");
  const words = [
    `from ${clockWords(start)}`,
    grant - start >= 1 || !claim.grantedAt
      ? `${claim.state === "CLAIM_STATE_WAITING" ? "waits" : "waited"} ${howLong(grant - start)}`
      : "",
    claim.grantedAt && !isSpent ? `${claim.end ? "held" : "holds"} ${howLong(end - grant)}` : "",
    isSpent ? `spent ${counted(claim.permits ?? 1, "permit")}` : endWords(claim),
    alsoWords(claim),
  ];
  const others = claim.also?.length ?? 0;
  const text = words.filter(Boolean).join(", ");
  return (
    <li title={text}>
      <span class="bar-label">
        <span class="dim">#{claim.ticketNumber}</span> <Text text={claim.owner ?? ""} />
        {others > 0 ? <span class="dim"> and {counted(others, "other lock")}</span> : null}
      </span>
      <svg class="bar-line" role="img" aria-label={`${whoWords(claim)} ${text}`} height="14" width="100%">
        <Span className="waits" from={share(start)} until={share(grant)} />
        {claim.grantedAt ? (
          <Span
            className={isSpent ? "spent" : claim.end ? (isBad ? "lost" : "holds") : "holds now"}
            from={share(grant)}
            until={share(end)}
            isLeast
          />
        ) : null}
      </svg>
    </li>
  );
}

/** A bar; a lease shows even if it was short. */
function Span(props: { className: string; from: number; until: number; isLeast?: boolean }) {
  const { className, from, until, isLeast = false } = props;
  const width = Math.max(isLeast ? 0.35 : 0, until - from);
  if (width <= 0) return null;
  const x = Math.min(from, 100 - width);
  return <rect class={className} x={`${x}%`} width={`${width}%`} y="1" height="12" rx="2" />;
}

function howLong(ms: number): string {
  return ms < 10_000 ? timeWords(ms) : ageWords(ms);
}
