/** A promise that the history shows broken. */
export interface Breach {
  /** The promise, as docs/proof.md names it. */
  readonly rule: string;
  /** What happened, for a person. */
  readonly what: string;
}
