// The public API of the package.

export type { ClaimedLockView, WantedLock } from "./also.ts";
export type { CaptureOptions } from "./capture.ts";
export type { ClaimEndView, EndName } from "./claim-end.ts";
export { type Captured, connect, type Outcome, type RenewedLease, type RowlockClient } from "./client.ts";
export {
  type Diagnosis,
  type DiagnosisKind,
  type DiagnosisManner,
  type DiagnosisWords,
  diagnose,
} from "./diagnosis.ts";
export type {
  ChangeKind,
  ChangeView,
  ListChangesOptions,
  ListClaimsOptions,
  RecordState,
  ReleasedClaim,
  WaitCause,
  WaitEstimateView,
  WaitExplanation,
  WaitTarget,
} from "./history.ts";
export type { LockState } from "./leases/held-lease.ts";
export type { HandedOver, Lock } from "./lock.ts";
export type { Mode } from "./mode.ts";
export type { OpenTelemetryApi } from "./open-telemetry.ts";
export type {
  ConnectionEvent,
  ConnectOptions,
  Forever,
  Headers,
  LockOptions,
  LogFields,
  LogLevel,
  Pem,
  Place,
  TlsOptions,
  Waiting,
} from "./options.ts";
export type { QueueRules, QueueRulesView, SetQueueRules, WhenFull } from "./queue-rules.ts";
export type { Rate, RateView, SpendOptions, Spent } from "./rates.ts";
export type { ClientReason, Reason, ServerReason } from "./reason.ts";
export type {
  Backoff,
  LastRunView,
  RecordChanges,
  RecordOptions,
  RecordView,
  ReleaseOptions,
} from "./records.ts";
export type { Refusal, RefusalName } from "./refusal.ts";
export { RowlockError, type Violation } from "./rowlock-error.ts";
export type { TokenSource } from "./token-source.ts";
export type {
  ForceReleased,
  ForceReleaseTarget,
  LimitInForce,
  LimitTarget,
  ListOptions,
  ListOrder,
  SetLimitOptions,
  SetQueueRulesOptions,
  SetRateOptions,
} from "./verbs.ts";
export type { ClaimView, LimitSetting, LimitView, LockView, PoolUse, PoolView } from "./views.ts";
export type { WatchOptions, WatchUpdate } from "./watch.ts";
export type { WorkOptions } from "./work.ts";
