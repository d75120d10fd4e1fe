// The door for everybody who has no gRPC: the verbs of the contract at /rowlock.v1.LockService/ by the Connect protocol and gRPC-Web,
// and the streams as events. Who calls, who may do what, checks, errors, quotas, metrics and logs are those of any call.

import { once } from "node:events";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Code, ConnectError, cors } from "@connectrpc/connect";
import { status } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Identity } from "../access/access.ts";
import type { BoundUse } from "../core/bound-use.ts";
import type { Served } from "../grpc/call-frame.ts";
import { type AnyVerb, ROWS } from "../grpc/verbs.ts";
import { DESCRIPTION_PATH, sendDescription } from "./api-description.ts";
import type { Callers } from "./callers.ts";
import { connectListener } from "./connect.ts";
import { connectError, sendError } from "./connect-error.ts";
import { Entrance, goOn } from "./entrance.ts";
import { answerWithEvents, wantsEvents } from "./events.ts";
import { type Admit, CallFailed } from "./http-call.ts";
import { OpenRequests, type Shares } from "./open-requests.ts";
import { TERRAFORM_PATH, TerraformLocks } from "./terraform.ts";
import { endIfUnread } from "./unread.ts";

export interface DoorOptions {
  readonly served: Served;
  readonly callers: Callers;
  /** Web sites whose pages may call from a browser. */
  readonly origins: ReadonlySet<string>;
  /** How many may be open, and how that is named. */
  readonly open: {
    readonly calls: readonly [bound: "page_calls" | "http_calls", shares: Shares];
    readonly streams: readonly [bound: "page_watches" | "http_streams", shares: Shares];
  };
}

interface Arrival {
  readonly response: ServerResponse;
  readonly identity: Identity;
  /** Its message is here: from now on it is a call. */
  isWhole: boolean;
}

/** The status of HTTP with which Connect refuses a message that is too large. */
const TOO_MUCH = 429;
/** What the pages of these sites may send, and read. */
const ALLOWED = [
  ["vary", "origin"],
  ["access-control-allow-methods", "POST"],
  [
    "access-control-allow-headers",
    ["authorization", "accept", "traceparent", "tracestate", ...cors.allowedHeaders].join(", "),
  ],
  ["access-control-expose-headers", cors.exposedHeaders.join(", ")],
  ["access-control-max-age", "7200"],
] as const;

const PATH = `/${LockService.typeName}/`;

/** Of the protocols. What a form of another web site may send is not among them. */
const TYPES = /^application\/(json|proto|connect\+json|connect\+proto|grpc-web(\+json|\+proto)?) *(;|$)/i;

const VERBS_BY_NAME: ReadonlyMap<string, AnyVerb> = new Map(
  Object.values(ROWS).map((verb) => [verb.of.name, verb]),
);

export class Door {
  readonly #options: DoorOptions;
  /** What asks beside the verbs takes places among the calls, too. */
  readonly calls: OpenRequests;
  readonly #streams: OpenRequests;
  readonly #connect: RequestListener;
  readonly #entrance: Entrance;
  readonly #terraform: TerraformLocks;
  readonly #arrivals = new WeakMap<IncomingMessage, Arrival>();

  constructor(options: DoorOptions) {
    this.#options = options;
    const { calls, streams } = options.open;
    this.#entrance = new Entrance(options.served, options.callers, options.origins);
    // A call that has done its work loses nothing but an answer that nobody reads.
    this.calls = new OpenRequests(...calls, ({ writableEnded }) => writableEnded);
    this.#streams = new OpenRequests(...streams, () => true);
    this.#terraform = new TerraformLocks(options.served, this.#entrance, this.calls);
    this.#connect = connectListener(options.served, VERBS_BY_NAME, this.#admit);
  }

  get bounds(): readonly BoundUse[] {
    return [this.calls.bound, this.#streams.bound];
  }

  has(path: string): boolean {
    return path.startsWith(PATH) || path === DESCRIPTION_PATH || path.startsWith(TERRAFORM_PATH);
  }

  /** Answers a request for such a path. `identified`: to be called when the sender has proved who it is. */
  async answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ): Promise<void> {
    if (path === DESCRIPTION_PATH) {
      await sendDescription(response);
      return;
    }
    const { served, origins } = this.#options;
    const why = this.#entrance.refusalOf(request);
    if (why !== null) {
      sendError(response, new ConnectError(why, Code.PermissionDenied));
      return;
    }
    const { origin = "" } = request.headers;
    if (origins.has(origin)) {
      for (const [header, value] of ALLOWED) response.setHeader(header, value);
      response.setHeader("access-control-allow-origin", origin);
      if (request.method === "OPTIONS") {
        response.writeHead(204).end();
        return;
      }
    }
    if (path.startsWith(TERRAFORM_PATH)) {
      await this.#terraform.answer(request, response, identified);
      return;
    }
    const verb = VERBS_BY_NAME.get(path.slice(PATH.length));
    if (!verb) {
      sendError(response, new ConnectError(`There is no ${path}.`, Code.Unimplemented));
      return;
    }
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      sendError(response, new ConnectError("Only POST.", Code.Unimplemented), 405);
      return;
    }
    if (!TYPES.test(request.headers["content-type"] ?? "")) {
      sendError(
        response,
        new ConnectError("Send the content-type application/json.", Code.InvalidArgument),
        415,
      );
      return;
    }
    try {
      const identity = await this.#entrance.identify(verb, request, identified);
      this.#arrivals.set(request, { response, identity, isWhole: false });
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      sendError(response, connectError(error.failure));
      return;
    }
    goOn(request, response);
    endIfUnread(response);
    if (verb.of.methodKind !== "unary" && wantsEvents(request))
      await answerWithEvents(served, verb, this.#admit, request, response);
    else {
      const startedMs = performance.now();
      response.once("finish", () => this.#countUnlessCall(verb, request, response, startedMs));
      const closed = once(response, "close");
      this.#connect(request, response);
      // The listener gives an answer that is over a short time to be read.
      await closed;
    }
  }

  /** A request whose message cannot be read fails before it is a call. */
  #countUnlessCall(
    { of }: AnyVerb,
    request: IncomingMessage,
    { statusCode }: ServerResponse,
    startedMs: number,
  ): void {
    if (this.#arrivals.get(request)?.isWhole) return;
    const code = status[
      statusCode === TOO_MUCH ? status.RESOURCE_EXHAUSTED : status.INVALID_ARGUMENT
    ] as string;
    this.#options.served.observer.call(of.name, code, (performance.now() - startedMs) / 1e3, "http");
  }

  readonly #admit: Admit = (request, { of }) => {
    const arrival = this.#arrivals.get(request) as Arrival;
    arrival.isWhole = true;
    const { response, identity } = arrival;
    (of.methodKind === "unary" ? this.calls : this.#streams).enter(identity, response);
    // The credentials may have ended while the body came.
    const ended = identity.ended(Date.now());
    if (ended) throw ended;
    return identity;
  };
}
