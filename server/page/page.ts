// The page for operators: its files, and the verbs of the contract that it calls, as JSON over HTTP. One more carrier of
// calls beside grpc/lock-service.ts: who calls, who may do what, checks, errors, metrics and logs are those of any call.
// It has no verb that takes, keeps or returns a lease, so no secret id can pass.

import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import { NOBODY } from "../access/access.ts";
import type { BoundUse } from "../core/bound-use.ts";
import { seenUnder } from "../grpc/authorize.ts";
import { arrive, perform, type Served, type Work } from "../grpc/call-frame.ts";
import { CallError, tooManyOfPages } from "../grpc/messages/call-error.ts";
import { failureOf } from "../grpc/messages/status.ts";
import { type Answer, type AnyVerb, VERBS } from "../grpc/verbs.ts";
import type { Ready } from "../ops/readiness.ts";
import { failureBody, sendFailure, sendJson, sendRefusal, sendText } from "./answers.ts";
import { Assets, type Files } from "./assets.ts";
import { Callers, type CallersOptions } from "./callers.ts";
import { EventStream } from "./event-stream.ts";
import { refusalOf } from "./other-sites.ts";
import { PAGE_CALLS_MAX, PAGE_WATCHES_MAX } from "./page-bounds.ts";
import { bodyOf, fromBody, PageCall } from "./page-call.ts";
import type { Rates } from "./rates.ts";

/** The verbs that the page calls. */
const { getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks } = VERBS;
const { setLimit, forceRelease, updateLock } = VERBS;
const CALLED = [
  ...[getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks],
  ...[setLimit, forceRelease, updateLock],
] as unknown as readonly AnyVerb[];

const API = "/api/";

/** What the page shows of its server. */
export interface ServerFacts {
  readonly version: string;
  /** Product and version. */
  readonly database: string;
  /** The id of this server. */
  readonly replica: string;
}

export interface PageOptions extends CallersOptions {
  readonly served: Served;
  readonly rates: Pick<Rates, "body">;
  readonly readiness: { readonly latest: Ready };
  readonly facts: ServerFacts;
  readonly files: Files;
}

export class Page {
  readonly #options: PageOptions;
  readonly #callers: Callers;
  readonly #assets: Assets;
  readonly #verbs = new Map(CALLED.map((verb) => [API + verb.of.name, verb]));
  readonly #reads = new Map<string, (request: IncomingMessage) => Promise<object>>([
    [`${API}about`, (request) => this.#about(request)],
    [`${API}rates`, (request) => this.#rates(request)],
  ]);
  #watches = 0;
  #calls = 0;

  constructor(options: PageOptions) {
    this.#options = options;
    this.#callers = new Callers(options);
    this.#assets = new Assets(options.files);
  }

  get bounds(): readonly BoundUse[] {
    return [
      { bound: "page_watches", kind: "room", used: this.#watches, max: PAGE_WATCHES_MAX },
      { bound: "page_calls", kind: "room", used: this.#calls, max: PAGE_CALLS_MAX },
    ];
  }

  /** Whether it answers requests for the path. */
  has(path: string): boolean {
    return path.startsWith(API) || this.#assets.has(path);
  }

  /** Answers a request for such a path. Rejects if the browser goes before it has sent its request. */
  async answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!path.startsWith(API)) {
      if (isMethod(["GET", "HEAD"], request, response)) this.#assets.send(path, request, response);
      return;
    }
    const refusal = refusalOf(request, this.#callers.areAsked);
    if (refusal !== null) return sendRefusal(response, 403, refusal);
    const verb = this.#verbs.get(path);
    const read = this.#reads.get(path);
    if (verb && isMethod(["POST"], request, response) && isJson(request, response))
      await this.#call(verb, request, response);
    else if (read && isMethod(["GET"], request, response))
      await read(request).then(
        (body) => sendJson(response, 200, body),
        (error) => sendFailure(response, failureOf(error)),
      );
    else if (!verb && !read) sendRefusal(response, 404, `There is no ${path}.`);
  }

  async #call(verb: AnyVerb, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isWatch = verb.of.methodKind !== "unary";
    const isFull = isWatch ? this.#watches >= PAGE_WATCHES_MAX : this.#calls >= PAGE_CALLS_MAX;
    if (!isFull) this.#count(isWatch, response);
    const body = isFull ? tooManyOfPages(isWatch ? "watches" : "calls") : await bodyOf(request);
    const work = {
      identify: () => {
        // Refused within the frame, so that it is counted as any call.
        if (body instanceof CallError) throw body;
        return this.#callers.identify(request, verb.needs.right);
      },
      decode: () => fromBody(verb.of.input, body as Buffer),
    };
    const carried = new PageCall(request, response);
    const { headers } = request;
    const arrived = arrive(this.#options.served, verb, carried, "page", () => ({
      traceparent: textOf(headers.traceparent),
      tracestate: textOf(headers.tracestate),
    }));
    if (isWatch) await this.#watch(verb, arrived, work, response);
    else await this.#answerOnce(verb, arrived, work, response);
  }

  async #answerOnce(
    verb: AnyVerb,
    arrived: ReturnType<typeof arrive>,
    work: Omit<Work<string>, "run">,
    response: ServerResponse,
  ): Promise<void> {
    const { served } = this.#options;
    const ended = await perform(served, arrived, {
      ...work,
      run: async (asked, call) =>
        jsonOf(verb.of.output, (await verb.run(served.methods, asked, call)) as Answer),
    });
    if (ended.failure) sendFailure(response, ended.failure);
    else sendText(response, 200, ended.result);
  }

  async #watch(
    verb: AnyVerb,
    arrived: ReturnType<typeof arrive>,
    work: Omit<Work<unknown>, "run">,
    response: ServerResponse,
  ): Promise<void> {
    const { served } = this.#options;
    const events = new EventStream(response);
    served.observer.streamOpened();
    const { failure } = await perform(served, arrived, {
      ...work,
      run: (asked, call) =>
        verb.run(served.methods, asked, call, (message, written) =>
          events.send(jsonOf(verb.of.output, message), written),
        ),
    });
    if (failure && !events.hasBegun) sendFailure(response, failure);
    else events.end(failure && failureBody(failure));
    served.observer.streamClosed();
  }

  /** Until its answer has been sent, or the browser has gone. */
  #count(isWatch: boolean, response: ServerResponse): void {
    if (isWatch) this.#watches += 1;
    else this.#calls += 1;
    response.once("close", () => {
      if (isWatch) this.#watches -= 1;
      else this.#calls -= 1;
    });
  }

  /** What the page says at its edge. Without a sign-in that the server asks for, only that it asks for one. */
  async #about(request: IncomingMessage) {
    const { facts, readiness } = this.#options;
    const { latest } = readiness;
    const signIn = this.#callers.signIn(request);
    const isKnown = signIn.signIn === "none" || request.headers.authorization !== undefined;
    const identity = isKnown ? await this.#callers.identify(request, "read") : null;
    const whyNot = identity ? this.#callers.whyNotAct(identity) : "Sign in with a token.";
    return {
      version: identity && facts.version,
      database: identity && facts.database,
      replica: identity && facts.replica,
      ready: latest.ready,
      notReady: latest.ready ? null : latest.reason,
      ...signIn,
      principal: identity?.principal || null,
      mayAct: whyNot === null,
      whyNot,
      now: Date.now(),
    };
  }

  /** For everybody who may read anything. */
  async #rates(request: IncomingMessage) {
    const identity = await this.#callers.identify(request, "read");
    if (identity !== NOBODY) seenUnder({ client: { identity } }, "ListLocks", "");
    return this.#options.rates.body();
  }
}

function jsonOf(schema: DescMessage, answer: Answer | Buffer): string {
  const message = Buffer.isBuffer(answer) ? fromBinary(schema, answer) : create(schema, answer);
  return JSON.stringify(toJson(schema, message));
}

function isMethod(methods: readonly string[], request: IncomingMessage, response: ServerResponse): boolean {
  if (methods.includes(request.method ?? "")) return true;
  response.setHeader("allow", methods.join(", "));
  sendRefusal(response, 405, `Only ${methods.join(" and ")}.`);
  return false;
}

function isJson({ headers }: IncomingMessage, response: ServerResponse): boolean {
  if (/^application\/json *(;|$)/i.test(headers["content-type"] ?? "")) return true;
  sendRefusal(response, 415, "Send the content-type application/json.");
  return false;
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
