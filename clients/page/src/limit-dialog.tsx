// Sets the limit, the rate or the queue rules of a name or of a pattern, or several of them, or removes them; a pool has no queue
// rules.

import { useState } from "preact/hooks";
import type { LockJson, QueueRulesJson, RateJson } from "#proto/rowlock/v1/lock_pb.js";
import type { LimitSettingJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { ActDialog, ReasonField, WhatFollows } from "./act-dialog.tsx";
import { call } from "./api.ts";
import { Name, useNowMs } from "./parts.tsx";
import { WhatFollowsAtPool } from "./pools.tsx";
import { QueueRulesFields } from "./queue-rules-fields.tsx";
import { RateFields } from "./rate-fields.tsx";
import { useMayLimit } from "./rights.ts";
import { queueRulesOfTyped, typedQueueRulesOf } from "./typed-queue-rules.ts";
import { rateOfTyped, typedRateOf } from "./typed-rate.ts";
import { WhatFollowsForMany } from "./what-follows-for-many.tsx";
import { whoNext } from "./who-next.ts";
import { counted, queueRulesWords, rateWords, shown, sourceWords } from "./words.ts";

const LIMIT_MAX = 1_000_000;

/** What becomes of the limit, of the rate and of the queue rules. */
type Fate = "keep" | "set" | "unset";

/** A setting as it is, of which all have one version. */
interface Now {
  readonly limit: number | undefined;
  /** Whether there is one to remove. */
  readonly hasLimit: boolean;
  readonly limitWords: string | null;
  readonly rate: RateJson | undefined;
  readonly hasRate: boolean;
  readonly rateWords: string | null;
  readonly queueRules: QueueRulesJson | undefined;
  readonly hasQueueRules: boolean;
  readonly queueRulesWords: string | null;
  readonly version: string | undefined;
}

export interface LimitDialogProps {
  /** The lock whose name gets a limit or a rate; null: `setting` says what. */
  readonly lock: LockJson | null;
  /** The setting to change; null: a new one. */
  readonly setting: LimitSettingJson | null;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

export function LimitDialog({ lock, setting, onClose, onDone }: LimitDialogProps) {
  const nowMs = useNowMs();
  // As it was when the dialog opened: a change by somebody else in between is refused by its version.
  const [now] = useState(() => (lock ? nowOfLock(lock) : setting ? nowOfSetting(setting) : NEW));
  const fixed = lock ? lock.name : (setting?.name ?? setting?.pattern ?? setting?.pool);
  const [target, setTarget] = useState(fixed ?? "");
  const isOfMany = !lock && setting?.name === undefined && target.endsWith("*");
  const [isTogether, setTogether] = useState(setting?.pool !== undefined);
  const isPool = isOfMany && isTogether;
  const isPattern = isOfMany && !isTogether;
  const isRateOnly = now.hasRate && !now.hasLimit;
  const isQueueOnly = now.hasQueueRules && !now.hasLimit && !now.hasRate;
  const [limitFate, setLimitFate] = useState<Fate>(isRateOnly || isQueueOnly ? "keep" : "set");
  const [rateFate, setRateFate] = useState<Fate>(isRateOnly ? "set" : "keep");
  const [chosenQueueFate, setQueueFate] = useState<Fate>(isQueueOnly ? "set" : "keep");
  const queueFate = isPool ? "keep" : chosenQueueFate;
  const [typedRules, setTypedRules] = useState(() => typedQueueRulesOf(now.queueRules));
  const queueRules = queueRulesOfTyped(typedRules);
  const [limit, setLimit] = useState(String(now.limit ?? 1));
  const [typed, setTyped] = useState(() => typedRateOf(now.rate));
  const [reason, setReason] = useState("");
  const [mayLimit] = useMayLimit(target === "" ? [] : [isOfMany ? { pattern: target } : { name: target }]);
  const wanted = Number(limit);
  const isNumber = /^\d+$/.test(limit) && wanted <= LIMIT_MAX;
  const rate = rateOfTyped(typed);
  const act = async () => {
    const answer = await call("SetLimit", {
      ...(isPool ? { pool: target } : isPattern ? { pattern: target } : { name: target }),
      ...(limitFate === "set" ? { limit: wanted } : limitFate === "unset" ? { unsetLimit: {} } : {}),
      ...(rateFate === "set" ? { rate: rate ?? {} } : rateFate === "unset" ? { unsetRate: {} } : {}),
      ...(queueFate === "set"
        ? { queueRules: queueRules ?? {} }
        : queueFate === "unset"
          ? { unsetQueueRules: {} }
          : {}),
      ...(now.version === undefined ? {} : { expectedVersion: now.version }),
      reason,
    });
    const inForce = answer.rate ? rateWords(answer.rate) : "none";
    const drains = answer.draining && limitFate !== "keep" ? "More is held than that, so it drains." : "";
    const behind = answer.serversBehind
      ? `${counted(answer.serversBehind, "server")} did not confirm it and may still grant by the old setting.`
      : "";
    const of = isPool ? `the pool ${shown(target)}` : shown(target);
    const limitNow = answer.noLimit ? "none" : String(answer.limit ?? 0);
    const said = [
      doneWords(limitFate, "limit", of, limitNow),
      drains,
      doneWords(rateFate, "rate", of, inForce),
      queueFate === "keep"
        ? ""
        : `The queue of ${of}: ${answer.queueRules ? queueRulesWords(answer.queueRules) : "no rules"} now.`,
      answer.noLimit && !answer.rate ? "It is no pool any more." : "",
      answer.counting ? "Those who held before it was made are still being counted." : "",
      behind,
    ];
    return said.filter(Boolean).join(" ");
  };
  const isPaused = limitFate === "set" && wanted === 0;
  const isForeseen =
    limitFate !== "unset" &&
    rateFate !== "unset" &&
    (limitFate === "keep" || isNumber) &&
    (rateFate === "keep" || rate !== null);
  const change = {
    ...(limitFate === "set" ? { limit: wanted } : {}),
    ...(rateFate === "set" && rate ? { rate } : {}),
  };
  return (
    <ActDialog
      title={fixed === undefined ? "Set a limit or a rate" : "Set the limit or the rate"}
      verb={verbOf({ limit: limitFate, rate: rateFate, queue: queueFate }, isNumber ? String(wanted) : "…")}
      isDanger={isPaused}
      isReady={
        [limitFate, rateFate, queueFate].some((fate) => fate !== "keep") &&
        (limitFate !== "set" || isNumber) &&
        (queueFate !== "set" || queueRules !== null) &&
        mayLimit === true
      }
      act={act}
      onClose={onClose}
      onDone={onDone}
    >
      {fixed !== undefined ? (
        <p>
          <Name text={target} />{" "}
          {isPool
            ? "(all matching names together)"
            : isPattern
              ? "(each matching name has them for itself)"
              : null}
        </p>
      ) : (
        <label>
          Pattern or name
          <input
            class="mono"
            value={target}
            onInput={(event) => setTarget(event.currentTarget.value)}
            required
            placeholder="etl/*"
            autocapitalize="off"
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
      {fixed === undefined && isOfMany ? (
        <label>
          It is for
          <select
            value={isTogether ? "pool" : "each"}
            onChange={(event) => setTogether(event.currentTarget.value === "pool")}
          >
            <option value="each">each matching name by itself</option>
            <option value="pool">all matching names together, as a pool</option>
          </select>
        </label>
      ) : null}
      {mayLimit === false ? <p class="note">You may not set this.</p> : null}
      <div class="fields">
        <FateField of="limit" has={now.hasLimit} is={now.limitWords} fate={limitFate} onFate={setLimitFate} />
        {limitFate === "set" ? (
          <label>
            Limit
            <input
              type="number"
              min={0}
              max={LIMIT_MAX}
              value={limit}
              onInput={(event) => setLimit(event.currentTarget.value)}
              required
            />
          </label>
        ) : null}
      </div>
      <RateFields typed={rateFate === "set" ? typed : null} onType={setTyped}>
        <FateField of="rate" has={now.hasRate} is={now.rateWords} fate={rateFate} onFate={setRateFate} />
      </RateFields>
      {isPool ? null : (
        <QueueRulesFields typed={queueFate === "set" ? typedRules : null} onType={setTypedRules}>
          <FateField
            of="queue rules"
            has={now.hasQueueRules}
            is={now.queueRulesWords}
            fate={queueFate}
            onFate={setQueueFate}
          />
        </QueueRulesFields>
      )}
      {isPaused ? <p class="note">A limit of 0 pauses: nobody is granted until it is raised.</p> : null}
      {isPool && (limitFate === "unset" || rateFate === "unset") ? (
        <p class="note">A pool with neither a limit nor a rate is removed.</p>
      ) : null}
      {limitFate === "unset" && !isPool ? (
        <p class="note">Then the limit of the longest matching pattern applies, or the default of 1.</p>
      ) : null}
      {rateFate === "unset" && !isPool ? (
        <p class="note">Then the rate of the longest matching pattern applies, or none.</p>
      ) : null}
      {queueFate === "unset" ? (
        <p class="note">Then the queue rules of the longest matching pattern apply, or none.</p>
      ) : null}
      {isPool ? (
        <WhatFollowsAtPool use={setting?.use} limit={limitFate === "set" && isNumber ? wanted : null} />
      ) : !isForeseen ? null : lock ? (
        <WhatFollows next={whoNext(lock, change, nowMs)} />
      ) : target !== "" ? (
        <WhatFollowsForMany target={target} isPattern={isPattern} change={change} />
      ) : null}
      <ReasonField reason={reason} onReason={setReason} />
    </ActDialog>
  );
}

function nowOfLock({ limit, rate, queueRules }: LockJson): Now {
  const hasLimit = limit?.source === "LIMIT_SOURCE_NAME";
  const hasRate = rate?.source === "LIMIT_SOURCE_NAME";
  const hasQueueRules = queueRules?.source === "LIMIT_SOURCE_NAME";
  const own = [limit, rate, queueRules].find((set) => set?.source === "LIMIT_SOURCE_NAME");
  return {
    limit: limit?.permits ?? 0,
    hasLimit,
    limitWords: `${limit?.permits ?? 0} (${sourceWords(limit ?? {})})`,
    rate: rate?.rate,
    hasRate,
    rateWords: rate?.rate ? `${rateWords(rate.rate)} (${sourceWords(rate)})` : "none",
    queueRules: queueRules?.rules,
    hasQueueRules,
    queueRulesWords: queueRules?.rules
      ? `${queueRulesWords(queueRules.rules)} (${sourceWords(queueRules)})`
      : "none",
    version: own?.version,
  };
}

/** Somebody has yet to write for what the new one is. */
const NEW: Now = {
  ...{ limit: undefined, hasLimit: false, limitWords: null },
  ...{ rate: undefined, hasRate: false, rateWords: null, version: undefined },
  ...{ queueRules: undefined, hasQueueRules: false, queueRulesWords: null },
};

function nowOfSetting({ limit = 0, rateOnly = false, rate, queueRules, version }: LimitSettingJson): Now {
  const hasLimit = !rateOnly;
  return {
    limit: hasLimit ? limit : undefined,
    hasLimit,
    limitWords: hasLimit ? String(limit) : "not set",
    rate,
    hasRate: rate !== undefined,
    rateWords: rate ? rateWords(rate) : "not set",
    queueRules,
    hasQueueRules: queueRules !== undefined,
    queueRulesWords: queueRules ? queueRulesWords(queueRules) : "not set",
    version,
  };
}

interface FateFieldProps {
  readonly of: "limit" | "rate" | "queue rules";
  readonly has: boolean;
  /** What it is now; null: that is not known. */
  readonly is: string | null;
  readonly fate: Fate;
  readonly onFate: (fate: Fate) => void;
}

function FateField({ of, has, is, fate, onFate }: FateFieldProps) {
  return (
    <label>
      The {of}
      <select value={fate} onChange={(event) => onFate(event.currentTarget.value as Fate)}>
        <option value="keep">
          {of === "queue rules" ? "stay as they are" : "stays as it is"}
          {is === null ? "" : `: ${is}`}
        </option>
        <option value="set">{of === "queue rules" ? "are set" : "is set"}</option>
        {has ? <option value="unset">{of === "queue rules" ? "are removed" : "is removed"}</option> : null}
      </select>
    </label>
  );
}

/** `Set the limit to 3 and remove the rate` */
function verbOf(
  { limit, rate, queue }: Readonly<Record<"limit" | "rate" | "queue", Fate>>,
  number: string,
): string {
  const parts = [
    { keep: "", set: `set the limit to ${number}`, unset: "remove the limit" }[limit],
    { keep: "", set: "set the rate", unset: "remove the rate" }[rate],
    { keep: "", set: "set the queue rules", unset: "remove the queue rules" }[queue],
  ];
  const words = parts.filter(Boolean).join(" and ") || "set nothing";
  return words[0]?.toUpperCase() + words.slice(1);
}

function doneWords(fate: Fate, of: string, target: string, inForce: string): string {
  if (fate === "keep") return "";
  return `${fate === "unset" ? `Removed the ${of} of ${target}: it is` : `The ${of} of ${target} is`} ${inForce} now.`;
}
