// The public API of `@rowlock/client/bare`: the bare calls, and the enums of their requests and answers.

export {
  ClaimState,
  EndReason,
  LimitSource,
  Mode,
  RefusalReason,
} from "#proto/rowlock/v1/lock_pb.js";
export { ListOrder } from "#proto/rowlock/v1/lock_service_pb.js";
export type { Headers, Pem, TlsOptions } from "../options.ts";
export type { ClientReason, Reason, ServerReason } from "../reason.ts";
export { RowlockError, type Violation } from "../rowlock-error.ts";
export { type BareCallOptions, BareCalls, type BareOptions } from "./bare-calls.ts";
export type { RequestOf, ResponseOf, StreamMethod, UnaryMethod } from "./methods.ts";
export type { Responses, SessionStream } from "./streams.ts";
