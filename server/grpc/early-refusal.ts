// Refuses a call before anything is done for it: under a load that is too high, most calls end so, and what they cost is
// taken from the others. A call of its own is refused as soon as its headers are there, without grpc-js and without its
// request. Only calls that ask for something new are refused here. Renewals, releases, reads, sessions and the services
// beside LockService are not.

import type { OutgoingHttpHeaders } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Frame } from "./call-observer.ts";
import { ANSWER_LEAVES_MS } from "./grpc-bounds.ts";
import { tooMuchUnderWay } from "./messages/call-error.ts";
import { failureOf, packedStatus } from "./messages/status.ts";
import { trailersOnly } from "./trailers-only.ts";
import { type AnyVerb, ROWS } from "./verbs.ts";

/** The refusal of all calls for which a bound on waiting calls is reached, and which are to come back after that time. */
class EarlyRefusal {
  readonly error;
  readonly failure;
  /** As google.rpc.Status, encoded. */
  readonly packed: Buffer;
  /** The trailers-only answer of gRPC. */
  readonly answer: OutgoingHttpHeaders;

  constructor(bound: string, retryAfterMs: number) {
    this.error = tooMuchUnderWay(bound, retryAfterMs);
    this.failure = failureOf(this.error);
    this.packed = packedStatus(this.failure.status);
    this.answer = trailersOnly(this.failure);
  }

  note({ observer, faultLog }: Refused, method: string, via: "call" | "session"): void {
    observer.call(method, "RESOURCE_EXHAUSTED", 0, via);
    faultLog.failed(method, this.failure, this.error);
  }
}

/** Each is made once: there are few times to come back. */
const MADE = new Map<string, EarlyRefusal>();

export function earlyRefusal(bound: string, retryAfterMs: number): EarlyRefusal {
  const key = `${bound} ${retryAfterMs}`;
  let made = MADE.get(key);
  if (!made) {
    made = new EarlyRefusal(bound, retryAfterMs);
    MADE.set(key, made);
  }
  return made;
}

/** The names of the methods that may be refused, by their paths. */
const REFUSABLE: ReadonlyMap<string, string> = new Map(
  Object.values(ROWS)
    .filter(isRefusable)
    .map(({ of }) => [`/${LockService.typeName}/${of.name}`, of.name]),
);

/** Who hears of refusals. */
interface Refused {
  readonly observer: Pick<Frame["observer"], "call">;
  readonly faultLog: Pick<Frame["faultLog"], "failed">;
}

export interface Refusing extends Refused {
  /** As in Admission, for the connection whose peer is named as in `getPeer` of its calls. */
  readonly retryAfterIfLate: (peer: string) => number | undefined;
}

/** Whether calls for it may be refused early. */
export function isRefusable({ admission }: Pick<AnyVerb, "admission">): boolean {
  return admission === "ordinary";
}

/** The method of the path if its calls may be refused. */
export function refusable(path: unknown): string | undefined {
  return typeof path === "string" ? REFUSABLE.get(path) : undefined;
}

export function refuse(
  stream: ServerHttp2Stream,
  method: string,
  retryAfterMs: number,
  refused: Refused,
): void {
  if (stream.destroyed || stream.aborted) return;
  const refusal = earlyRefusal("calls_on_connection", retryAfterMs);
  // Without a listener, a connection that ends now would end the process.
  stream.on("error", () => {});
  stream.respond(refusal.answer, { endStream: true });
  // Reads and forgets the request: otherwise the stream would stay open.
  stream.resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), ANSWER_LEAVES_MS).unref();
  // Most requests end at once. Streams that were remembered for longer would cost more to collect than to refuse.
  stream.once("close", () => clearTimeout(timer));
  refusal.note(refused, method, "call");
}
