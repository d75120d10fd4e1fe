// Starts what decides who may call: reads its files now and whenever they change, ends who has lost what they came with,
// and counts the live claims and records that quotas are about.

import { Access, type Loss } from "./access/access.ts";
import { FileKeys, UrlKeys } from "./access/key-sets.ts";
import { Policy } from "./access/policy.ts";
import { hashOf } from "./access/tokens-file.ts";
import { Usage } from "./access/usage.ts";
import type { AccessFiles } from "./config/access-config.ts";
import type { FilesOutcome, ReloadedFiles } from "./config/reloaded-files.ts";
import type { EngineEvent } from "./engine/answers.ts";
import { Loop } from "./engine/loop.ts";
import type { Log } from "./log/log.ts";
import type { Store } from "./storage/store.ts";

const KEYS_STAY = "the keys cannot be fetched, so those that were in force stay";
const NO_KEYS = "the keys cannot be fetched, so there are none yet: JWTs are refused";
/** How often it looks for callers whose token or certificate has expired, or is not in force any more. */
const ENDED_CHECKED_MS = 250;
/** How often claims and records are counted, and how long after a count none begins, as a multiple of its time. */
const COUNT_EVERY_MS = 5_000;
const COUNT_REST_SHARE = 9;
/** As much of a SHA-256 as people compare. */
const HASH_CHARS = 12;

export interface Around {
  readonly files: ReloadedFiles;
  readonly store: Pick<Store, "claimsOfPrincipals" | "recordsOfPrincipals" | "noteChange">;
  /** This server's id. */
  readonly replica: bigint;
  readonly onOutcome: (outcome: FilesOutcome) => void;
  readonly log: Log;
}

export function startAccess(
  { tokens, policy, certificates, jwt }: AccessFiles,
  { files, store, replica, onOutcome, log }: Around,
) {
  const usage = new Usage();
  const fetchedKeys = jwt && "url" in jwt.keys ? fetchedFrom(jwt.keys.url, onOutcome) : null;
  const fileKeys = new FileKeys();
  // Until the files are read for the first time, they say nothing: no token is known, and nothing is allowed.
  const access = new Access({
    tokens: tokens ? new Map() : undefined,
    policy: policy ? new Policy([]) : undefined,
    certificates: certificates ?? undefined,
    jwt: jwt ? { rules: jwt.rules, keys: fetchedKeys ?? fileKeys } : undefined,
  });
  let policyHash: string | undefined;
  /** Notes the changes of the policy one after the other. Never rejects. */
  let noting = Promise.resolve();
  files.add(tokens, (value) => access.replaceTokens(value));
  files.add(policy, (value, [text = ""]) => {
    access.replacePolicy(value);
    const from = policyHash;
    const to = hashOf(text).slice(0, HASH_CHARS);
    policyHash = to;
    // The first policy is no change: nobody knows which one was in force before.
    if (from !== undefined && from !== to) noting = noting.then(() => notePolicy(from, to));
  });
  if (jwt && !("url" in jwt.keys)) files.add(jwt.keys, (value) => fileKeys.replace(value));
  const counting = new Loop({
    name: "quotas",
    intervalMs: COUNT_EVERY_MS,
    jitter: 0.1,
    restMsAfter: (runMs) => COUNT_REST_SHARE * runMs,
    run: countAll,
    onFailure: (loop, error) => log.debug({ loop, err: error }, "what quotas are about could not be counted"),
  });
  let ending: NodeJS.Timeout | undefined;

  async function notePolicy(from: string, to: string): Promise<void> {
    const by = String(replica);
    try {
      await store.noteChange({ kind: "policy", target: "", isPattern: false, by, from, to, reason: "" });
    } catch (error) {
      log.warn({ err: error, from, to }, "the change of the policy is missing in the history");
    }
  }

  async function countAll(): Promise<void> {
    if (access.policy?.boundsClaims) usage.counted(await store.claimsOfPrincipals());
    // If the quota is gone, nothing is kept of what was counted before.
    usage.recordsCounted(access.policy?.boundsRecords ? await store.recordsOfPrincipals() : []);
  }

  return {
    access,
    usage,
    /** Fetches keys, and counts for the first time. Call it when the files have been read, and before anybody may call. */
    async begin(): Promise<void> {
      await Promise.all([fetchedKeys?.start(), countAll()]);
      counting.start();
    },
    /** What this server has decided changes the number of live claims, and, if those are counted, of records. */
    observe(reported: EngineEvent): void {
      if (reported.kind !== "event") return;
      const { event } = reported;
      if (event.kind === "enqueued") usage.decided(event.claim.principal, 1, 1);
      else if (event.kind === "granted")
        usage.decided(event.claim.principal, event.queued ? 0 : 1, event.queued ? -1 : 0);
      else if (event.kind === "ended")
        usage.decided(event.claim.principal, -1, event.was === "waiting" ? -1 : 0);
      if (event.kind !== "ended" && event.kind !== "record_changed") return;
      const { record, isNewRecord = false } = event;
      const isDeleted = event.kind === "record_changed" && event.change === "deleted";
      if (record && (isNewRecord || isDeleted) && access.policy?.boundsRecords)
        usage.decided(record.principal, 0, 0, isDeleted ? -1 : 1);
    },
    /** From now on, calls `endLost` when callers have lost what they came with. */
    watch(endLost: (loss: Loss) => void): void {
      access.onLoss = endLost;
      ending = setInterval(() => endLost((identity) => identity.ended(Date.now())), ENDED_CHECKED_MS);
    },
    async stop(): Promise<void> {
      clearInterval(ending);
      fetchedKeys?.stop();
      await Promise.all([counting.stop(), noting]);
    },
  };
}

/** Reports as files do. A fault names the setting and the URL. */
function fetchedFrom(url: string, report: (outcome: FilesOutcome) => void): UrlKeys {
  const what = "jwt_keys";
  let isFirst = true;
  let hasKeys = false;
  return new UrlKeys({
    url,
    onOutcome(why) {
      hasKeys ||= why === null;
      if (why === null) report({ kind: isFirst ? "first" : "new", what });
      else {
        const faults = [`ROWLOCK_JWT_KEYS, ${url}: ${why}.`];
        report({ kind: "failed", what, faults, holds: hasKeys ? KEYS_STAY : NO_KEYS });
      }
      isFirst = false;
    },
  });
}
