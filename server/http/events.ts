// The streams of the contract as server-sent events, for curl and browsers, which send plain JSON (Connect has a type of its own for
// streams): a message is an event with the JSON of the contract, and a failure the event `end`, with the error as Connect writes it.
// A message is written when the client has taken the one before.

import type { IncomingMessage, ServerResponse } from "node:http";
import { toJson } from "@bufbuild/protobuf";
import type { Served } from "../grpc/call-frame.ts";
import { failureOf } from "../grpc/messages/status.ts";
import type { AnyVerb } from "../grpc/verbs.ts";
import { connectError, errorText, sendError } from "./connect-error.ts";
import { bodyOf } from "./entrance.ts";
import { SIGN_OF_LIFE_MS } from "./http-bounds.ts";
import { type Admit, CallFailed, HttpCall, streamed } from "./http-call.ts";
import { jsonMessage } from "./json-message.ts";

/** Whether the client of a stream gets events. */
export function wantsEvents({ headers }: Pick<IncomingMessage, "headers">): boolean {
  return /^application\/json *(;|$)/i.test(headers["content-type"] ?? "");
}

export async function answerWithEvents(
  served: Served,
  verb: AnyVerb,
  admit: Admit,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const events = new Events(response);
  try {
    // What fails here fails within the frame, which counts it.
    const message = await settled(async () => jsonMessage(verb.of.input, await bodyOf(request)).message);
    const call = new HttpCall(request, gone.signal, undefined);
    const arrived = {
      call,
      identify: () => admit(request, verb),
      get message() {
        return valueIn(message);
      },
    };
    for await (const each of streamed(served, verb, arrived))
      await events.send(JSON.stringify(toJson(verb.of.output, each)));
    events.end(null);
  } catch (error) {
    events.end(error instanceof CallFailed ? error : new CallFailed(failureOf(error)));
  }
}

type Settled<Value> = { readonly value: Value } | { readonly error: unknown };

function settled<Value>(work: () => Promise<Value>): Promise<Settled<Value>> {
  return work().then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

function valueIn<Value>(known: Settled<Value>): Value {
  if ("error" in known) throw known.error;
  return known.value;
}

class Events {
  readonly #response: ServerResponse;
  readonly #signs: NodeJS.Timeout;
  #isWriting = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    this.#signs = setInterval(() => {
      if (this.#response.headersSent && !this.#isWriting) void this.#write(":\n\n");
    }, SIGN_OF_LIFE_MS);
    response.once("close", () => clearInterval(this.#signs));
  }

  /** Resolves when the client's connection has taken it, or is gone. */
  send(json: string): Promise<void> {
    if (!this.#response.headersSent)
      this.#response.writeHead(200, {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        // Proxies would wait for more.
        "x-accel-buffering": "no",
      });
    return this.#write(`data: ${json}\n\n`);
  }

  end(failed: CallFailed | null): void {
    clearInterval(this.#signs);
    const response = this.#response;
    if (response.destroyed) return;
    if (failed && !response.headersSent) {
      sendError(response, connectError(failed.failure));
      return;
    }
    if (failed) response.write(`event: end\ndata: ${errorText(connectError(failed.failure))}\n\n`);
    response.end();
  }

  async #write(text: string): Promise<void> {
    if (this.#response.destroyed) return;
    this.#isWriting = true;
    await new Promise<void>((resolve) => this.#response.write(text, () => resolve()));
    this.#isWriting = false;
  }
}
