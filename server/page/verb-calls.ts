// The verbs that the page calls, as JSON over HTTP. One more carrier of calls beside grpc/lock-service.ts: who calls, who
// may do what, checks, errors, quotas, metrics and logs are those of any call. It has no verb that takes, keeps or
// returns a lease, so no secret id can pass.

import type { ServerResponse } from "node:http";
import { create, type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import type { Identity } from "../access/access.ts";
import type { Answer } from "../grpc/call.ts";
import { type Carrier, perform, type Served } from "../grpc/call-frame.ts";
import { CallError } from "../grpc/messages/call-error.ts";
import { type AnyVerb, VERBS } from "../grpc/verbs.ts";
import type { Callers } from "./callers.ts";
import type { Answering } from "./http.ts";
import { bodyOf, EventStream, failureBody, fromBody, PageCall, sendFailure, sendText } from "./http.ts";
import type { OpenPages } from "./open-pages.ts";

const { getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks } = VERBS;
const { setLimit, forceRelease, updateRecord } = VERBS;

/** Only these. */
export const PAGE_VERBS = [
  ...[getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks],
  ...[setLimit, forceRelease, updateRecord],
] as unknown as readonly AnyVerb[];

type Prepared = Omit<Carrier<never>, "encode" | "end">;

/** What pages have open. */
type Open = Readonly<Record<"watches" | "calls", OpenPages>>;

export class VerbCalls {
  readonly #served: Served;
  readonly #callers: Callers;
  readonly #open: Open;

  constructor(served: Served, callers: Callers, open: Open) {
    this.#served = served;
    this.#callers = callers;
    this.#open = open;
  }

  /**
   * As `Answering`. First who calls, by the head of the request alone; then the body; and only a whole request takes a
   * place. So a body that never ends keeps nobody out, and that of a stranger is not read.
   */
  async answer(verb: AnyVerb, ...[request, response, identified]: Parameters<Answering>): Promise<void> {
    const isWatch = verb.of.methodKind !== "unary";
    let identity: Identity | null = null;
    let refusal: unknown;
    try {
      identity = await this.#callers.identify(request, verb.needs.right);
    } catch (error) {
      refusal = error;
    }
    if (identity && identity.principal !== "") identified();
    const body = identity && (await bodyOf(request, response));
    const prepared: Prepared = {
      call: new PageCall(request, response),
      via: "page",
      parent: () => ({
        traceparent: textOf(request.headers.traceparent),
        tracestate: textOf(request.headers.tracestate),
      }),
      identify: () => {
        // Thrown within the frame, so that it is counted as the failure of a call.
        if (!identity) throw refusal;
        if (body instanceof CallError) throw body;
        this.#open[isWatch ? "watches" : "calls"].enter(identity, response);
        // The credentials may have ended while the body came.
        const ended = identity.ended(Date.now());
        if (ended) throw ended;
        return identity;
      },
      decode: () => fromBody(verb.of.input, body as Buffer),
    };
    if (isWatch) this.#watch(verb, prepared, response);
    else this.#once(verb, prepared, response);
  }

  #once(verb: AnyVerb, prepared: Prepared, response: ServerResponse): void {
    perform(this.#served, verb, {
      ...prepared,
      encode: (answer) => jsonOf(verb.of.output, answer as Answer),
      end(ended) {
        if (ended.failure) sendFailure(response, ended.failure);
        else sendText(response, 200, ended.result);
      },
    });
  }

  #watch(verb: AnyVerb, prepared: Prepared, response: ServerResponse): void {
    const { observer } = this.#served;
    const events = new EventStream(response);
    observer.streamOpened();
    perform(this.#served, verb, {
      ...prepared,
      encode() {},
      send: (message, written) => events.send(jsonOf(verb.of.output, message), written),
      end({ failure }) {
        if (failure && !events.hasBegun) sendFailure(response, failure);
        else events.end(failure && failureBody(failure));
        observer.streamClosed();
      },
    });
  }
}

function jsonOf(schema: DescMessage, answer: Answer | Buffer): string {
  const message = Buffer.isBuffer(answer) ? fromBinary(schema, answer) : create(schema, answer);
  return JSON.stringify(toJson(schema, message));
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
