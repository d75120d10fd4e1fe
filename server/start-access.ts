// Starts what decides who may call: reads its files now and whenever they change, ends who has lost what they came with,
// and counts the live claims and records that quotas are about.

import { createHash } from "node:crypto";
import { Access, type Loss } from "./access/access.ts";
import { FileKeys, UrlKeys } from "./access/key-sets.ts";
import { Policy } from "./access/policy.ts";
import { Usage } from "./access/usage.ts";
import type { AccessFiles } from "./config/access-config.ts";
import type { FilesOutcome, ReloadedFiles } from "./config/reloaded-files.ts";
import type { EngineEvent } from "./engine/answers.ts";
import { Loop } from "./engine/loop.ts";
import type { Log } from "./log/log.ts";
import type { Store } from "./storage/store.ts";

export interface StartedAccess {
  readonly access: Access;
  readonly usage: Usage;
  /** Fetches keys, and counts for the first time. Call it when the files have been read, and before anybody may call. */
  begin(): Promise<void>;
  /** Hears of everything that the engine does. */
  observe(event: EngineEvent): void;
  /** From now on, calls `endLost` when callers have lost what they came with. */
  watch(endLost: (loss: Loss) => void): void;
  stop(): Promise<void>;
}

const KEYS_STAY = "the keys cannot be fetched, so those that were in force stay";
const NO_KEYS = "the keys cannot be fetched, so there are none yet: JWTs are refused";
/** How often it looks for callers whose token or certificate has expired, or is not in force any more. */
const ENDED_CHECKED_MS = 250;
/** How often claims and records are counted, and how long after a count none begins, as a multiple of its time. */
const COUNT_EVERY_MS = 5_000;
const COUNT_REST_SHARE = 9;

export function startAccess(
  where: AccessFiles,
  files: ReloadedFiles,
  store: () => Pick<Store, "claimsOfPrincipals" | "recordsOfPrincipals" | "noteChange">,
  replica: () => bigint,
  report: (outcome: FilesOutcome) => void,
  log: Log,
): StartedAccess {
  const usage = new Usage();
  let isFirst = true;
  let hasKeys = false;
  const onFetched = (why: string | null) => {
    const what = "jwt_keys";
    hasKeys ||= why === null;
    if (why === null) report({ kind: isFirst ? "first" : "new", what });
    else report({ kind: "failed", what, faults: [why], holds: hasKeys ? KEYS_STAY : NO_KEYS });
    isFirst = false;
  };
  const policies = new PolicyChanges(async (from, to) => {
    const by = String(replica());
    const change = { kind: "policy", target: "", isPattern: false, by, from, to, reason: "" } as const;
    try {
      await store().noteChange(change);
    } catch (error) {
      log.warn({ err: error, from, to }, "the change of the policy is missing in the history");
    }
  });
  const { access, fetchedKeys } = accessFromFiles(where, files, onFetched, (text) => policies.read(text));
  const countAll = async () => {
    if (access.boundsClaims) usage.counted(await store().claimsOfPrincipals());
    // If the quota is gone, nothing is kept of what was counted before.
    usage.recordsCounted(access.boundsRecords ? await store().recordsOfPrincipals() : []);
  };
  const counting = new Loop({
    name: "quotas",
    intervalMs: COUNT_EVERY_MS,
    jitter: 0.1,
    restMsAfter: (runMs) => COUNT_REST_SHARE * runMs,
    run: countAll,
    onFailure: (loop, error) => log.debug({ loop, err: error }, "what quotas are about could not be counted"),
  });
  let ending: NodeJS.Timeout | undefined;
  return {
    access,
    usage,
    async begin() {
      await Promise.all([fetchedKeys?.start(), countAll()]);
      counting.start();
    },
    observe(event) {
      count(usage, event, access.boundsRecords);
    },
    watch(endLost) {
      access.onLoss = endLost;
      ending = setInterval(() => endLost((identity) => identity.ended(Date.now())), ENDED_CHECKED_MS);
    },
    async stop() {
      clearInterval(ending);
      fetchedKeys?.stop();
      await Promise.all([counting.stop(), policies.noted()]);
    },
  };
}

/** What this server has decided changes the number of live claims, and, if those are counted, of records. */
function count(usage: Usage, reported: EngineEvent, boundsRecords: boolean): void {
  if (reported.kind !== "event") return;
  const { event } = reported;
  if (event.kind === "enqueued") usage.decided(event.claim.principal, 1, 1);
  else if (event.kind === "granted")
    usage.decided(event.claim.principal, event.queued ? 0 : 1, event.queued ? -1 : 0);
  else if (event.kind === "ended") usage.decided(event.claim.principal, -1, event.was === "waiting" ? -1 : 0);
  if (!boundsRecords || (event.kind !== "ended" && event.kind !== "record_changed")) return;
  const { record, isNewRecord = false } = event;
  const isDeleted = event.kind === "record_changed" && event.change === "deleted";
  if (record && (isNewRecord || isDeleted)) usage.recordsDecided(record.principal, isDeleted ? -1 : 1);
}

/** What a policy file said when it came into force, to note its changes one after the other. */
class PolicyChanges {
  readonly #note: (from: string, to: string) => Promise<void>;
  #hash: string | undefined;
  #noted: Promise<void> = Promise.resolve();

  /** `note` must not reject. */
  constructor(note: (from: string, to: string) => Promise<void>) {
    this.#note = note;
  }

  /** The first policy is no change: nobody knows which one was in force before. */
  read(text: string): void {
    const from = this.#hash;
    const to = createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARS);
    this.#hash = to;
    if (from !== undefined && from !== to) this.#noted = this.#noted.then(() => this.#note(from, to));
  }

  /** Resolves when all changes are noted. */
  noted(): Promise<void> {
    return this.#noted;
  }
}

/** As much of a SHA-256 as people compare. */
const HASH_CHARS = 12;

/**
 * Until the files are read for the first time, they say nothing: no token is known, and nothing is allowed. `onFetched`
 * gets null if keys were fetched, otherwise why not, and `onPolicy` the text of each policy that comes into force.
 * `fetchedKeys`: what fetches them; null: no URL has keys.
 */
function accessFromFiles(
  { tokens, policy, certificates, jwt }: AccessFiles,
  files: ReloadedFiles,
  onFetched: (why: string | null) => void,
  onPolicy: (text: string) => void,
) {
  const fetchedKeys = jwt && "url" in jwt.keys ? fetchedFrom(jwt.keys.url, onFetched) : null;
  const fileKeys = new FileKeys();
  const access = new Access({
    tokens: tokens ? new Map() : undefined,
    policy: policy ? new Policy([]) : undefined,
    certificates: certificates ?? undefined,
    jwt: jwt ? { rules: jwt.rules, keys: fetchedKeys ?? fileKeys } : undefined,
  });
  if (tokens) files.add({ ...tokens, onNew: (value) => access.replaceTokens(value) });
  if (policy)
    files.add({
      ...policy,
      onNew(value, [text = ""]) {
        access.replacePolicy(value);
        onPolicy(text);
      },
    });
  if (jwt && !("url" in jwt.keys)) files.add({ ...jwt.keys, onNew: (value) => fileKeys.replace(value) });
  return { access, fetchedKeys };
}

/** `onFetched`: as in accessFromFiles; a fault names the setting and the URL. */
function fetchedFrom(url: string, onFetched: (why: string | null) => void): UrlKeys {
  const onOutcome = (why: string | null) => onFetched(why && `ROWLOCK_JWT_KEYS, ${url}: ${why}.`);
  return new UrlKeys({ url, onOutcome });
}
