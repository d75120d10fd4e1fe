// The public API of the package.

export type { CaptureOptions } from "./capture.ts";
export type { LockState } from "./leases/held-lease.ts";
export type { Lock } from "./lock.ts";
export type { Mode } from "./modes.ts";
export type {
  ConnectionEvent,
  ConnectOptions,
  Forever,
  Headers,
  LockOptions,
  Place,
  TlsOptions,
} from "./options.ts";
export type { LastRunView, LockChanges, RecordOptions, RecordView, ReleaseOptions } from "./records.ts";
export type { Refusal, RefusalName } from "./refusal.ts";
export { type Captured, connect, type Outcome, type RenewedLease, type Rowlock } from "./rowlock.ts";
export {
  type ClientReason,
  type Reason,
  RowlockError,
  type ServerReason,
  type Violation,
} from "./rowlock-error.ts";
export type {
  ForceReleaseTarget,
  LimitInForce,
  LimitTarget,
  ListLocksOptions,
  SetLimitOptions,
} from "./verbs.ts";
export type { ClaimView, LimitSettingView, LimitView, LockView } from "./views.ts";
export type { WatchOptions, WatchUpdate } from "./watch.ts";
