// Who sends a request over HTTP, known by its head alone: the body of a stranger is not read.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Identity } from "../access/access.ts";
import type { Served } from "../grpc/call-frame.ts";
import { messageTooLarge } from "../grpc/messages/call-error.ts";
import type { AnyVerb } from "../grpc/verbs.ts";
import { type Callers, refusalOf } from "./callers.ts";
import { READ_BYTES_MAX } from "./http-bounds.ts";
import { answered, HttpCall } from "./http-call.ts";

export class Entrance {
  readonly #served: Served;
  readonly #callers: Callers;
  readonly #origins: ReadonlySet<string>;

  constructor(served: Served, callers: Callers, origins: ReadonlySet<string>) {
    this.#served = served;
    this.#callers = callers;
    this.#origins = origins;
  }

  /** Why another web site may have sent it; null: it has not. */
  refusalOf(request: IncomingMessage): string | null {
    return refusalOf(request, this.#callers.areAsked, this.#origins);
  }

  /**
   * Who wants this of the server. `identified`: called when the sender has proved who it is. Rejects with CallFailed: the request fails
   * within the frame of a call, which counts and logs it.
   */
  async identify(verb: AnyVerb, request: IncomingMessage, identified: () => void): Promise<Identity> {
    try {
      const identity = await this.#callers.identify(request, verb.needs.right);
      if (identity.principal !== "") identified();
      if (Number(request.headers["content-length"] ?? 0) > READ_BYTES_MAX)
        throw messageTooLarge(READ_BYTES_MAX);
      return identity;
    } catch (error) {
      const call = new HttpCall(request, NEVER_GONE, undefined);
      const identify = () => {
        throw error;
      };
      await answered(this.#served, verb, { call, message: NO_MESSAGE, identify });
      throw error;
    }
  }
}

const NEVER_GONE = new AbortController().signal;
/** Of a call that fails before its message is looked at. */
const NO_MESSAGE = { $typeName: "none" };

/** Lets a client that waits until somebody wants its body go on. */
export function goOn({ headers }: IncomingMessage, response: ServerResponse): void {
  if (/^100-continue$/i.test(headers.expect ?? "")) response.writeContinue();
}

/** The whole body. Throws a CallError if it is too large. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > READ_BYTES_MAX) throw messageTooLarge(READ_BYTES_MAX);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
