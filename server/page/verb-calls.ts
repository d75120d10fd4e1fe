// The verbs that the page calls, as JSON over HTTP. One more carrier of calls beside grpc/lock-service.ts: who calls, who
// may do what, checks, errors, quotas, metrics and logs are those of any call. It has no verb that takes, keeps or
// returns a lease, so no secret id can pass.

import type { IncomingMessage, ServerResponse } from "node:http";
import { create, type DescMessage, fromBinary, toJson } from "@bufbuild/protobuf";
import { type Arrived, arrive, perform, type Served, type Work } from "../grpc/call-frame.ts";
import { CallError, tooManyOfPages } from "../grpc/messages/call-error.ts";
import { type Answer, type AnyVerb, VERBS } from "../grpc/verbs.ts";
import { failureBody, sendFailure, sendText } from "./answers.ts";
import type { Callers } from "./callers.ts";
import { EventStream } from "./event-stream.ts";
import { bodyOf, fromBody, PageCall } from "./page-call.ts";
import type { Room } from "./room.ts";

const { getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks } = VERBS;
const { setLimit, forceRelease, updateLock } = VERBS;

/** Only these. */
export const PAGE_VERBS = [
  ...[getLock, listLocks, listLimits, listClaims, listChanges, explainWait, watchLocks],
  ...[setLimit, forceRelease, updateLock],
] as unknown as readonly AnyVerb[];

export interface VerbCallsOptions {
  readonly served: Served;
  readonly callers: Pick<Callers, "identify">;
  readonly watches: Room;
  readonly calls: Room;
}

type Prepared = Omit<Work<unknown>, "run">;

export class VerbCalls {
  readonly #options: VerbCallsOptions;

  constructor(options: VerbCallsOptions) {
    this.#options = options;
  }

  /** Answers a request for the verb. Rejects if the browser goes before it has sent its request. */
  async answer(verb: AnyVerb, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { served, callers, watches, calls } = this.#options;
    const isWatch = verb.of.methodKind !== "unary";
    const hasRoom = (isWatch ? watches : calls).enter(response);
    const body = hasRoom ? await bodyOf(request) : tooManyOfPages(isWatch ? "watches" : "calls");
    const arrived = arrive(served, verb, new PageCall(request, response), "page", () => ({
      traceparent: textOf(request.headers.traceparent),
      tracestate: textOf(request.headers.tracestate),
    }));
    const prepared: Prepared = {
      identify() {
        // Thrown within the frame, so that it is counted as the failure of a call.
        if (body instanceof CallError) throw body;
        return callers.identify(request, verb.needs.right);
      },
      decode: () => fromBody(verb.of.input, body as Buffer),
    };
    if (isWatch) await this.#watch(arrived, prepared, response);
    else await this.#once(arrived, prepared, response);
  }

  async #once(arrived: Arrived, prepared: Prepared, response: ServerResponse): Promise<void> {
    const { served } = this.#options;
    const { verb } = arrived;
    const ended = await perform(served, arrived, {
      ...prepared,
      run: async (asked, call) =>
        jsonOf(verb.of.output, (await verb.run(served.methods, asked, call)) as Answer),
    });
    if (ended.failure) sendFailure(response, ended.failure);
    else sendText(response, 200, ended.result);
  }

  async #watch(arrived: Arrived, prepared: Prepared, response: ServerResponse): Promise<void> {
    const { served } = this.#options;
    const { verb } = arrived;
    const events = new EventStream(response);
    served.observer.streamOpened();
    const { failure } = await perform(served, arrived, {
      ...prepared,
      run: (asked, call) =>
        verb.run(served.methods, asked, call, (message, written) =>
          events.send(jsonOf(verb.of.output, message), written),
        ),
    });
    if (failure && !events.hasBegun) sendFailure(response, failure);
    else events.end(failure && failureBody(failure));
    served.observer.streamClosed();
  }
}

function jsonOf(schema: DescMessage, answer: Answer | Buffer): string {
  const message = Buffer.isBuffer(answer) ? fromBinary(schema, answer) : create(schema, answer);
  return JSON.stringify(toJson(schema, message));
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
