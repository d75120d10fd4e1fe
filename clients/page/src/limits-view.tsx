// The limits, rates and queue rules that somebody has set, for patterns, for names and for pools, and why.

import { useState } from "preact/hooks";
import type { LimitSettingJson, ListLimitsResponseJson } from "#proto/rowlock/v1/lock_service_pb.js";
import { call } from "./api.ts";
import { connection } from "./connection.ts";
import { LimitDialog } from "./limit-dialog.tsx";
import { Chip, LockLink, Name, Text, Trouble, useAsked } from "./parts.tsx";
import { PoolsTable } from "./pools.tsx";
import { useMayLimit } from "./rights.ts";
import { prefixHash } from "./route.ts";
import { useStore } from "./store.ts";
import { queueRulesWords, rateWords } from "./words.ts";

/** More are a table of their own, for the shell. */
const SHOWN_MAX = 1_000;

export function LimitsView() {
  const { about } = useStore(connection);
  const [acted, setActed] = useState(0);
  const { value, trouble } = useAsked<ListLimitsResponseJson>(
    () => call("ListLimits", { pageSize: SHOWN_MAX }),
    "",
    {
      poke: acted,
      everyMs: 5_000,
    },
  );
  const [changed, setChanged] = useState<LimitSettingJson | "new" | null>(null);
  const settings = value?.limits ?? [];
  const pools = settings.filter(({ pool }) => pool);
  const limits = settings.filter(({ pool }) => !pool);
  // The right for a pool is that for its pattern.
  const may = useMayLimit(
    [...pools, ...limits].map(({ name, pattern = "", pool = pattern }) =>
      pool ? { pattern: pool } : { name: name ?? "" },
    ),
  );
  const mayLimit = may.slice(pools.length);
  const close = () => setChanged(null);
  return (
    <>
      <div class="title">
        <h1>Limits</h1>
        {about?.mayAct ? (
          <span class="buttons">
            <button type="button" onClick={() => setChanged("new")}>
              Set a limit or a rate…
            </button>
          </span>
        ) : null}
      </div>
      <p class="dim">
        A limit for a name comes before patterns; the longest pattern that matches comes before shorter ones.
        Where nothing is set, it is 1. Rates go by the same order; where none is set, locks are granted as
        fast as they become free.
      </p>
      <Trouble text={trouble} />
      {limits.length > 0 ? (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Of</th>
                <th scope="col" class="number c-limit">
                  Limit
                </th>
                <th scope="col" class="wide">
                  Rate
                </th>
                <th scope="col" class="wide">
                  Why
                </th>
                <th scope="col" class="number c-token wide">
                  Version
                </th>
                <th scope="col" class="c-act">
                  <span class="sr">What you can do</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {limits.map((setting, at) => (
                <tr key={setting.pattern ?? `=${setting.name}`}>
                  <td>
                    {setting.pattern ? (
                      <a href={prefixHash(setting.pattern.slice(0, -1))}>
                        <Name text={setting.pattern} />
                      </a>
                    ) : (
                      <LockLink name={setting.name ?? ""} />
                    )}
                    {setting.rate ? <span class="under narrow">{rateWords(setting.rate)}</span> : null}
                    {setting.queueRules ? (
                      <span class="under">{queueRulesWords(setting.queueRules)}</span>
                    ) : null}
                    <span class="under narrow wraps">
                      <Text text={setting.reason ?? ""} />
                    </span>
                  </td>
                  <td class="number">
                    <LimitOf setting={setting} />
                  </td>
                  <td class="wide">{setting.rate ? rateWords(setting.rate) : null}</td>
                  <td class="wide wraps">
                    <Text text={setting.reason ?? ""} />
                  </td>
                  <td class="number dim wide">{setting.version}</td>
                  <td class="c-act">
                    {mayLimit[at] ? (
                      <button type="button" class="small" onClick={() => setChanged(setting)}>
                        Change…<span class="sr"> the limit of {setting.pattern ?? setting.name}</span>
                      </button>
                    ) : null}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : value && pools.length === 0 ? (
        <p class="empty">No limit and no rate is set, so each lock is held once at a time.</p>
      ) : null}
      {pools.length > 0 ? <PoolsTable pools={pools} mayChange={may} onChange={setChanged} /> : null}
      {value?.nextPageToken ? <p class="dim">There are more; these are the first {SHOWN_MAX}.</p> : null}
      {changed === null ? null : (
        <LimitDialog
          lock={null}
          setting={changed === "new" ? null : changed}
          onClose={close}
          onDone={() => {
            close();
            setActed((count) => count + 1);
          }}
        />
      )}
    </>
  );
}

function LimitOf({ setting: { limit, rateOnly } }: { setting: LimitSettingJson }) {
  if (rateOnly) return <span class="dim">not set</span>;
  return limit ? limit.toLocaleString("en") : <Chip kind="bad">0, paused</Chip>;
}
