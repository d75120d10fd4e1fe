// A change that somebody made, as the history keeps it: of a limit, of a record, a forced release, or a policy. The
// contract (`Change` in lock.proto) says what `from` and `to` contain.

export type ChangeKind = "limit" | "record" | "forced_release" | "policy";

export interface NotedChange {
  readonly kind: ChangeKind;
  /** The lock's name, or the pattern with its star; empty for a policy. */
  readonly target: string;
  readonly isPattern: boolean;
  /** The caller's principal, or its address if the server asks nobody; for a policy, the server that read it. */
  readonly by: string;
  /** Before and after; empty: there was or is none. */
  readonly from: string;
  readonly to: string;
  readonly reason: string;
}
