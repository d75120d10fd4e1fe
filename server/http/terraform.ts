// Locks for the states of Terraform and OpenTofu, as their HTTP backend asks for them: LOCK and UNLOCK at /terraform/, with the
// lock info in the body (https://developer.hashicorp.com/terraform/language/backend/http). The path is the lock's name. The info is
// kept as labels. Nothing is kept here: the id of the info is the id of the request, by which a later UNLOCK finds the lease.

import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { type Claim, type LeaseTermsSchema, RefusalReason } from "#proto/rowlock/v1/lock_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Identity } from "../access/access.ts";
import { durationMs } from "../config/setting-kinds.ts";
import { DURATION_US_MAX, TEXT_BYTES_MAX } from "../core/bounds.ts";
import type { Served } from "../grpc/call-frame.ts";
import { badRequest } from "../grpc/messages/call-error.ts";
import { durationMessage } from "../grpc/messages/messages.ts";
import { failureOf } from "../grpc/messages/status.ts";
import { type AnyVerb, ROWS } from "../grpc/verbs.ts";
import { connectError, sendError } from "./connect-error.ts";
import { bodyOf, type Entrance, goOn } from "./entrance.ts";
import { answered, CallFailed, HttpCall } from "./http-call.ts";
import type { OpenRequests } from "./open-requests.ts";

export const TERRAFORM_PATH = "/terraform/";
const LOCKED = 423;
const TIME_S_MAX = DURATION_US_MAX / 1e6;
/** Of the lock info, and the label that keeps each. `Who` is the owner. */
const LABELS = {
  ID: "terraform_id",
  Operation: "operation",
  Info: "info",
  Version: "version",
  Created: "created",
  Path: "path",
} as const;

type Info = Readonly<Record<keyof typeof LABELS | "Who", string>>;

interface Wished {
  readonly name: string;
  /** 0: refuse at once. */
  readonly waitS: number;
  /** null: until it is unlocked. */
  readonly ttlS: number | null;
}

type Methods = (typeof LockService)["method"];

/** Performs a verb for whoever has sent the request. Rejects with CallFailed. */
type Perform = <Name extends "acquire" | "renew" | "release" | "getLock" | "forceRelease">(
  name: Name,
  message: MessageInitShape<Methods[Name]["input"]>,
) => Promise<MessageShape<Methods[Name]["output"]>>;

interface Answer {
  readonly status: number;
  readonly info?: Info;
}

export class TerraformLocks {
  readonly #served: Served;
  readonly #entrance: Entrance;
  readonly #open: OpenRequests;

  constructor(served: Served, entrance: Entrance, open: OpenRequests) {
    this.#served = served;
    this.#entrance = entrance;
    this.#open = open;
  }

  async answer(request: IncomingMessage, response: ServerResponse, identified: () => void): Promise<void> {
    const step = STEPS.get(request.method ?? "");
    if (!step) {
      response.setHeader("allow", [...STEPS.keys()].join(", "));
      response
        .writeHead(405, { "content-type": "text/plain" })
        .end("Use LOCK and UNLOCK; the state is kept elsewhere.\n");
      return;
    }
    try {
      withBearer(request);
      const identity = await this.#entrance.identify(ROWS.acquire as AnyVerb, request, identified);
      this.#open.enter(identity, response);
      goOn(request, response);
      const info = infoIn(await bodyOf(request));
      const { status, info: holder } = await step(
        wishedBy(request),
        info,
        this.#performFor(request, response, identity),
      );
      const text = holder ? JSON.stringify(holder) : "";
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
      });
      response.end(text);
    } catch (error) {
      sendError(response, connectError(error instanceof CallFailed ? error.failure : failureOf(error)));
    }
  }

  #performFor(request: IncomingMessage, response: ServerResponse, identity: Identity): Perform {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    return async (name, asked) => {
      const call = new HttpCall(request, gone.signal, undefined);
      const message = create(LockService.method[name].input, asked as object);
      const arrived = { call, message, identify: () => identity };
      return (await answered(this.#served, ROWS[name] as AnyVerb, arrived)) as never;
    };
  }
}

const STEPS: ReadonlyMap<string, (wished: Wished, info: Info | null, perform: Perform) => Promise<Answer>> =
  new Map([
    ["LOCK", lock],
    ["UNLOCK", unlock],
  ]);

/**
 * Terraform asks again with the same id when a wait was in vain (`-lock-timeout`), and a request that has ended is never revived. So
 * the id of a later try has a number; so many are looked for.
 */
const TRIES_MAX = 100;
const requestIdOf = (id: string, trial: number) => (trial === 1 ? id : `${id} ${trial}`);

async function lock({ name, waitS, ttlS }: Wished, info: Info | null, perform: Perform): Promise<Answer> {
  if (!info?.ID) throw badRequest([{ field: "ID", description: "is missing: send the lock info in JSON" }]);
  const { Who, ...rest } = info;
  const labels = Object.entries(LABELS).map(([field, label]) => [
    label,
    cut(rest[field as keyof typeof rest]),
  ]);
  const terms: MessageInitShape<typeof LeaseTermsSchema> = {
    lasting: ttlS === null ? { case: "noExpiry", value: {} } : { case: "ttl", value: seconds(ttlS) },
    owner: cut(Who),
    labels: Object.fromEntries(labels.filter(([, value]) => value !== "")),
  };
  const whenBusy = waitS === 0 ? undefined : ({ case: "wait", value: { maxWait: seconds(waitS) } } as const);
  const { requestId, outcome: known } = await latest(name, info.ID, perform);
  const { outcome } =
    known.case === "lease"
      ? { outcome: known }
      : await perform("acquire", { name, requestId, terms, ...(whenBusy && { whenBusy }) });
  if (outcome.case === "lease") {
    const { leaseId, provisional } = outcome.value;
    if (provisional) await perform("renew", { leaseId });
    return { status: 200 };
  }
  const { holders = [], message = "" } = outcome.value as { holders?: Claim[]; message?: string };
  return { status: LOCKED, info: infoOf(holders[0], message) };
}

/** In this status no lock is, so nothing is taken. */
const NO_STATUS = "of no lock";

/** Finds what a request with the id has got, without making one. */
function look(name: string, requestId: string, perform: Perform) {
  return perform("acquire", { name, requestId, terms: { ifStatus: [NO_STATUS] } });
}

/** The first try with the id that has not ended, or the next one to be made. */
async function latest(name: string, id: string, perform: Perform) {
  for (let trial = 1; ; trial++) {
    const requestId = requestIdOf(id, trial);
    const { outcome } = await look(name, requestId, perform);
    if (outcome.case !== "ended" || trial === TRIES_MAX) return { requestId, outcome };
  }
}

async function unlock({ name }: Wished, info: Info | null, perform: Perform): Promise<Answer> {
  // As Terraform's `force-unlock` sends it, without the id that somebody has typed. OpenTofu sends that alone.
  if (!info?.ID) {
    const { lock: found } = await perform("getLock", { name });
    return found?.holderCount === 0 ? { status: 200 } : await force({ case: "name", value: name }, perform);
  }
  let theirs: Claim | undefined;
  for (let trial = 1; trial <= TRIES_MAX; trial++) {
    const { outcome } = await look(name, requestIdOf(info.ID, trial), perform);
    if (outcome.case === "lease") {
      await perform("release", { leaseId: outcome.value.leaseId });
      return { status: 200 };
    }
    if (outcome.case !== "refusal") continue;
    // There was no such request. The last one may be older than the server remembers.
    const { holders, message } = outcome.value;
    theirs = holders.find((holder) => idOf(holder) === info.ID);
    if (theirs) continue;
    const isFree = outcome.value.reason === RefusalReason.STATUS_MISMATCH;
    return isFree || trial > 1 ? { status: 200 } : { status: LOCKED, info: infoOf(holders[0], message) };
  }
  // Somebody else has taken it with this id: to end that needs the right to.
  if (!theirs) return { status: 200 };
  const { ticketNumber } = theirs;
  return await force({ case: "claim", value: { lockName: name, ticketNumber } }, perform);
}

async function force(
  target: MessageInitShape<Methods["forceRelease"]["input"]>["target"] & object,
  perform: Perform,
): Promise<Answer> {
  await perform("forceRelease", { target, reason: "unlocked by Terraform" });
  return { status: 200 };
}

/** Of a job of another kind, its number in the queue. */
const idOf = ({ labels, ticketNumber }: Claim) => labels[LABELS.ID] || `#${ticketNumber}`;

/** Of whoever holds the lock. Terraform shows nothing of it but the id, behind which the rest stands for people. */
function infoOf(holder: Claim | undefined, message: string): Info {
  const now = new Date().toISOString();
  if (!holder)
    return { ID: message, Operation: "", Info: message, Who: "", Version: "", Created: now, Path: "" };
  const label = (of: string) => holder.labels[of] ?? "";
  const since =
    label(LABELS.Created) || (holder.grantedAt ? timestampDate(holder.grantedAt).toISOString() : now);
  return {
    ID: `${idOf(holder)} (${[holder.owner, label(LABELS.Operation), `since ${since}`].filter(Boolean).join(", ")})`,
    Operation: label(LABELS.Operation),
    Info: label(LABELS.Info),
    Who: holder.owner,
    Version: label(LABELS.Version),
    Created: since,
    Path: label(LABELS.Path),
  };
}

/** null: there is none. */
function infoIn(body: Buffer): Info | null {
  if (body.length === 0) return null;
  let read: unknown;
  try {
    read = JSON.parse(body.toString());
  } catch {
    throw badRequest([{ field: "the body", description: "is not JSON: send the lock info" }]);
  }
  const fields = [...Object.keys(LABELS), "Who"] as (keyof Info)[];
  const text = (field: keyof Info) => String((read as Record<string, unknown> | null)?.[field] ?? "");
  const info = Object.fromEntries(fields.map((field) => [field, text(field)])) as unknown as Info;
  // Without what stands behind an id for people, who may have copied all of it.
  return { ...info, ID: info.ID.replace(/ \(.*$/s, "") };
}

function wishedBy({ url = "" }: IncomingMessage): Wished {
  const { pathname, searchParams } = new URL(url, "http://door");
  const faults: { field: string; description: string }[] = [];
  const time = (field: string): number | null => {
    const [text, ...more] = searchParams.getAll(field);
    if (text === undefined) return null;
    const timeS = durationMs(text) / 1_000;
    if (more.length === 0 && timeS >= 1 && timeS <= TIME_S_MAX) return timeS;
    const description = "must be one time from 1s to 24d, written like 30s, 10m, 2h or 1d";
    faults.push({ field, description });
    return null;
  };
  const [waitS, ttlS] = [time("wait") ?? 0, time("ttl")];
  for (const field of searchParams.keys())
    if (field !== "wait" && field !== "ttl")
      faults.push({ field, description: "is unknown: there are wait and ttl" });
  let name = "";
  try {
    name = decodeURIComponent(pathname.slice(1));
  } catch {
    faults.push({ field: "name", description: "is not UTF-8" });
  }
  if (faults.length > 0) throw badRequest(faults);
  return { name, waitS, ttlS };
}

/** Terraform has no tokens: it sends a user's name, and as the password the token. */
function withBearer(request: IncomingMessage): void {
  const [first = "", ...more] = request.headersDistinct.authorization ?? [];
  const [, encoded] = /^basic +([\w+/=]+)$/i.exec(first) ?? [];
  if (encoded === undefined || more.length > 0) return;
  const password = Buffer.from(encoded, "base64")
    .toString()
    .replace(/^[^:]*:/, "");
  const bearer = `Bearer ${password}`;
  request.headers.authorization = bearer;
  request.headersDistinct.authorization = [bearer];
}

function cut(text: string): string {
  let short = text;
  while (Buffer.byteLength(short) > TEXT_BYTES_MAX) short = short.slice(0, -1);
  // A pair of surrogates is one letter.
  return short.replace(/[\ud800-\udbff]$/, "");
}

function seconds(count: number) {
  return durationMessage(count * 1e6);
}
