// The settings that decisions depend on.

export interface Policy {
  /**
   * How long a place is kept without a sign of life, and how long a lease granted after a wait is kept until its
   * client comes for it.
   */
  readonly graceUs: number;
  /** How long a sign of life by a replica counts: the grace period and the replica's pace of heartbeats. */
  readonly attachedForUs: number;
  /** How long an ended claim is remembered. */
  readonly retentionUs: number;
  /** Longest queue of a lock. */
  readonly queueMax: number;
}
