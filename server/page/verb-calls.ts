// The verbs that the page calls, as JSON over HTTP. One more carrier of calls beside grpc/lock-service.ts: who calls, who
// may do what, checks, errors, quotas, metrics and logs are those of any call. It has no verb that takes, keeps or
// returns a lease, so no secret id can pass.

import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import type { Identity } from "../access/access.ts";
import type { Answer } from "../grpc/call.ts";
import { type Carrier, perform, type Served } from "../grpc/call-frame.ts";
import { CallError, tooManyOfPages } from "../grpc/messages/call-error.ts";
import { type AnyVerb, VERBS } from "../grpc/verbs.ts";
import type { Callers } from "./callers.ts";
import { bodyOf, EventStream, failureBody, fromBody, PageCall, sendFailure, sendText } from "./http.ts";
import type { OpenPages } from "./open-pages.ts";

const { getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks } = VERBS;
const { setLimit, forceRelease, updateRecord } = VERBS;

/** Only these. */
export const PAGE_VERBS = [
  ...[getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks],
  ...[setLimit, forceRelease, updateRecord],
] as unknown as readonly AnyVerb[];

/** A request of which its caller, the place that it takes and its body are known; or why it is refused. */
type Admitted = { readonly identity: Identity; readonly body: Buffer } | { readonly refusal: unknown };

type Prepared = Omit<Carrier<never>, "encode" | "end">;

export class VerbCalls {
  readonly #served: Served;
  readonly #callers: Callers;
  readonly #watches: OpenPages;
  readonly #calls: OpenPages;

  constructor(served: Served, callers: Callers, watches: OpenPages, calls: OpenPages) {
    this.#served = served;
    this.#callers = callers;
    this.#watches = watches;
    this.#calls = calls;
  }

  /** As `Answering` of page.ts. */
  async answer(
    verb: AnyVerb,
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ): Promise<void> {
    const isWatch = verb.of.methodKind !== "unary";
    const admitted = await this.#admitted(verb, isWatch, request, response, identified);
    const prepared: Prepared = {
      call: new PageCall(request, response),
      via: "page",
      parent: () => ({
        traceparent: textOf(request.headers.traceparent),
        tracestate: textOf(request.headers.tracestate),
      }),
      identify() {
        // Thrown within the frame, so that it is counted as the failure of a call.
        if ("refusal" in admitted) throw admitted.refusal;
        // The credentials may have ended while the body came.
        const ended = admitted.identity.ended(Date.now());
        if (ended) throw ended;
        return admitted.identity;
      },
      decode: () => fromBody(verb.of.input, (admitted as { body: Buffer }).body),
    };
    if (isWatch) this.#watch(verb, prepared, response);
    else this.#once(verb, prepared, response);
  }

  /**
   * First who calls, by the head of the request alone; then the body; and only a whole request takes a place. So a body
   * that never ends keeps nobody out, and that of a stranger is not read. Rejects as `bodyOf`.
   */
  async #admitted(
    verb: AnyVerb,
    isWatch: boolean,
    request: IncomingMessage,
    response: ServerResponse,
    identified: () => void,
  ): Promise<Admitted> {
    let identity: Identity;
    try {
      identity = await this.#callers.identify(request, verb.needs.right);
    } catch (refusal) {
      return { refusal };
    }
    if (identity.principal !== "") identified();
    const body = await bodyOf(request, response);
    if (body instanceof CallError) return { refusal: body };
    const full = (isWatch ? this.#watches : this.#calls).enter(identity, response);
    if (full !== null) return { refusal: tooManyOfPages(isWatch ? "watches" : "calls", full) };
    return { identity, body };
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
