// The door for everybody who has no gRPC: the verbs of the contract at /rowlock.v1.LockService/ by the Connect protocol and gRPC-Web,
// and the streams as events. Who calls, who may do what, checks, errors, quotas, metrics and logs are those of any call.

import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Code, ConnectError } from "@connectrpc/connect";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Identity } from "../access/access.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { Served } from "../grpc/call-frame.ts";
import { type AnyVerb, ROWS } from "../grpc/verbs.ts";
import { type Callers, refusalOf } from "./callers.ts";
import { connectListener } from "./connect.ts";
import { sendError } from "./connect-error.ts";
import { answerWithEvents, wantsEvents } from "./events.ts";
import { OpenRequests, type Shares } from "./open-requests.ts";

export interface DoorOptions {
  readonly served: Served;
  readonly callers: Callers;
  /** How many may be open, and how that is named. */
  readonly open: {
    readonly calls: readonly [bound: "page_calls" | "http_calls", shares: Shares];
    readonly streams: readonly [bound: "page_watches" | "http_streams", shares: Shares];
  };
}

/** What is asked at the door about each request. */
export interface Doorkeeper {
  /** By the head alone: the body of a stranger is not read. Throws, or rejects with, an AccessError. */
  identify(request: IncomingMessage, verb: AnyVerb): Promise<Identity>;
  /** When the whole request is here. So one that never ends keeps nobody out. Throws what the call then fails with. */
  admit(request: IncomingMessage, verb: AnyVerb, identity: Identity): Identity;
}

interface Arrival {
  readonly response: ServerResponse;
  readonly identified: () => void;
}

const PATH = `/${LockService.typeName}/`;

const VERBS_BY_NAME: ReadonlyMap<string, AnyVerb> = new Map(
  Object.values(ROWS).map((verb) => [verb.of.name, verb]),
);

export class Door implements Doorkeeper {
  readonly #options: DoorOptions;
  /** What asks beside the verbs takes places among the calls, too. */
  readonly calls: OpenRequests;
  readonly #streams: OpenRequests;
  readonly #connect: RequestListener;
  readonly #arrivals = new WeakMap<IncomingMessage, Arrival>();

  constructor(options: DoorOptions) {
    this.#options = options;
    const { calls, streams } = options.open;
    // A call that has done its work loses nothing but an answer that nobody reads.
    this.calls = new OpenRequests(...calls, ({ writableEnded }) => writableEnded);
    this.#streams = new OpenRequests(...streams, () => true);
    this.#connect = connectListener(options.served, VERBS_BY_NAME, this);
  }

  get bounds(): readonly BoundUse[] {
    return [this.calls.bound, this.#streams.bound];
  }

  has(path: string): boolean {
    return path.startsWith(PATH);
  }

  /** Answers a request for such a path. `identified`: to be called when the sender has proved who it is. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ): Promise<void> {
    const { served, callers } = this.#options;
    const refusal = refusalOf(request, callers.areAsked);
    if (refusal !== null) {
      sendError(response, new ConnectError(refusal, Code.PermissionDenied));
      return;
    }
    this.#arrivals.set(request, { response, identified });
    const verb = VERBS_BY_NAME.get(path.slice(PATH.length));
    if (verb && verb.of.methodKind !== "unary" && wantsEvents(request))
      await answerWithEvents(served, verb, this, request, response);
    else this.#connect(request, response);
  }

  async identify(request: IncomingMessage, { needs }: AnyVerb): Promise<Identity> {
    const identity = await this.#options.callers.identify(request, needs.right);
    if (identity.principal !== "") this.#arrivals.get(request)?.identified();
    return identity;
  }

  admit(request: IncomingMessage, { of }: AnyVerb, identity: Identity): Identity {
    const { response } = this.#arrivals.get(request) as Arrival;
    (of.methodKind === "unary" ? this.calls : this.#streams).enter(identity, response);
    // The credentials may have ended while the body came.
    const ended = identity.ended(Date.now());
    if (ended) throw ended;
    return identity;
  }
}
