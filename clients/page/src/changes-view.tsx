// The last changes that somebody has made: of limits, records and policies, and forced releases.

import type { ChangeJson, ChangeKindJson } from "#proto/rowlock/v1/lock_pb.js";
import { call } from "./api.ts";
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
        <p class="dim">There are older ones; `rowlock changes` in a shell has them.</p>
      ) : null}
    </>
  );
}

const KINDS: Partial<Readonly<Record<ChangeKindJson, string>>> = {
  CHANGE_KIND_LIMIT: "limit",
  CHANGE_KIND_RECORD: "record",
  CHANGE_KIND_FORCED_RELEASE: "forced release",
  CHANGE_KIND_POLICY: "policy",
};

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
              <td>{KINDS[change.kind ?? "CHANGE_KIND_UNSPECIFIED"] ?? "another"}</td>
              {isOneLock ? null : (
                <td>
                  {change.lockName ? (
                    <LockLink name={change.lockName} />
                  ) : (
                    <Name text={change.pattern ?? ""} />
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

function fromTo({ kind, from = "", to = "" }: ChangeJson): string {
  switch (kind) {
    case "CHANGE_KIND_LIMIT":
      return `${from || "not set"} → ${to || "not set"}`;
    case "CHANGE_KIND_RECORD":
      return `${recordWords(from)} → ${recordWords(to)}`;
    case "CHANGE_KIND_FORCED_RELEASE":
      return claimWords(from);
    case "CHANGE_KIND_POLICY":
      return `${from.slice(0, 12)} → ${to.slice(0, 12)}`;
    default:
      return `${from} → ${to}`;
  }
}

function recordWords(text: string): string {
  if (text === "") return "none";
  const { status = "", attempts_left, not_before } = fieldsOf(text);
  const words = [
    ...(status === "" ? [] : [String(status)]),
    ...(attempts_left === undefined ? [] : [`${counted(Number(attempts_left), "attempt")} left`]),
    ...(not_before === undefined ? [] : [`not before ${clockWords(instantMs(String(not_before)))}`]),
  ];
  return words.join(", ") || "empty";
}

function claimWords(text: string): string {
  const { ticket_number, state, owner = "", principal } = fieldsOf(text);
  return `#${ticket_number} of ${owner}${principal ? ` (${principal})` : ""}, which ${state === "held" ? "held it" : "waited"}`;
}

/** The fields of a JSON object; none if it is none, as of a newer server. */
function fieldsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...(JSON.parse(text) as object) };
  } catch {
    return {};
  }
}
