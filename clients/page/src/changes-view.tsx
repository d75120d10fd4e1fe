// The last changes that somebody has made: of limits, rates, records and policies, and forced releases.

import type { ChangeJson, ClaimJson, LockRecordJson } from "#proto/rowlock/v1/lock_pb.js";
import { call } from "./api.ts";
import { limitWords, partsOf } from "./limit-change-words.ts";
import { LockLink, Name, Text, Trouble, useAsked } from "./parts.tsx";
import { setOption } from "./route.ts";
import { clockWords, counted, instantMs } from "./words.ts";

export function ChangesView({ prefix }: { prefix: string }) {
  const { value, trouble } = useAsked(
    () => call("ListChanges", { pageSize: 100, ...(prefix === "" ? {} : { prefix }) }),
    prefix,
    { everyMs: 5_000 },
  );
  return (
    <>
      <h1>Changes</h1>
      <search>
        <form class="bar" onSubmit={(event) => event.preventDefault()}>
          <label class="grow">
            <span class="sr">Names and patterns that begin with</span>
            <input
              type="search"
              placeholder="Names and patterns that begin with"
              value={prefix}
              autocapitalize="off"
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setOption("prefix", event.currentTarget.value)}
            />
          </label>
        </form>
      </search>
      <Trouble text={trouble} />
      {value ? (
        value.changes?.length ? (
          <ChangeTable changes={value.changes} />
        ) : (
          <p class="empty">Nobody has changed anything here.</p>
        )
      ) : null}
      {value?.nextPageToken ? (
        <p class="dim">There are older ones; `rowlock history --changes` in a shell has them.</p>
      ) : null}
    </>
  );
}

function kindOf({ limit, record, forcedRelease, policy, pool }: ChangeJson): string {
  if (limit) return `${partsOf(limit).join(" and ")}${pool ? " of a pool" : ""}`;
  if (record) return "record";
  if (forcedRelease) return "forced release";
  return policy ? "policy" : "another";
}

export function ChangeTable({
  changes,
  isOneLock = false,
}: {
  changes: readonly ChangeJson[];
  isOneLock?: boolean;
}) {
  return (
    <div class="scroll">
      <table class="changes">
        <thead>
          <tr>
            <th scope="col" class="c-when">
              When
            </th>
            <th scope="col" class="c-what">
              What
            </th>
            {isOneLock ? null : <th scope="col">Of</th>}
            <th scope="col">Change</th>
            <th scope="col" class="wide">
              By
            </th>
            <th scope="col" class="wide">
              Why
            </th>
          </tr>
        </thead>
        <tbody>
          {changes.map((change, at) => (
            <tr key={`${change.changedAt}${at}`}>
              <td>{change.changedAt ? clockWords(instantMs(change.changedAt)) : ""}</td>
              <td>{kindOf(change)}</td>
              {isOneLock ? null : (
                <td>
                  {change.lockName ? (
                    <LockLink name={change.lockName} />
                  ) : (
                    <Name text={change.pattern ?? change.pool ?? ""} />
                  )}
                </td>
              )}
              <td class="wraps">
                <Text text={fromTo(change)} />
              </td>
              <td class="wide">
                <Text text={change.changedBy ?? ""} />
              </td>
              <td class="wide wraps">
                <Text text={change.reason ?? ""} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function fromTo({ limit, record, forcedRelease, policy }: ChangeJson): string {
  if (limit) return limitWords(limit);
  if (record) return `${recordWords(record.from)} → ${recordWords(record.to)}`;
  if (forcedRelease) return claimWords(forcedRelease.claim ?? {});
  if (policy) return `${policy.from?.slice(0, 12) ?? ""} → ${policy.to?.slice(0, 12) ?? ""}`;
  return "";
}

function recordWords(record: LockRecordJson | undefined): string {
  if (!record) return "none";
  const { status = "", attemptsLeft, notBefore } = record;
  const words = [
    ...(status === "" ? [] : [status]),
    ...(attemptsLeft === undefined ? [] : [`${counted(attemptsLeft, "attempt")} left`]),
    ...(notBefore === undefined ? [] : [`not before ${clockWords(instantMs(notBefore))}`]),
  ];
  return words.length === 0 ? "empty" : words.join(", ");
}

function claimWords({ ticketNumber, state, owner = "", principal }: ClaimJson): string {
  const who = `${owner}${principal ? ` (${principal})` : ""}`;
  return `#${ticketNumber} of ${who}, which ${state === "CLAIM_STATE_HELD" ? "held it" : "waited"}`;
}
