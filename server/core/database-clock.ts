// What this process knows of the database's clock. The database reads its clock at some time between the question and
// the answer, so a reading only bounds how far that clock is ahead of the monotonic one here. Readings are
// intersected, and the bounds widen by the drift that may have happened meanwhile. If a reading contradicts the
// bounds, the clock has stepped: the reading replaces them. A long step ahead is a jump; the time that short ones skip
// is added to what was given before. Pure: monotonic times are arguments, in microseconds.

import { CLOCK_DRIFT_MAX, CLOCK_JUMP_US_MIN } from "./bounds.ts";

/** The database's clock at the time of a decision, as far as it is known. */
export interface Clock {
  /** Upper bound of the time. What is given counts from here, so that it never ends too early. */
  readonly nowUs: number;
  /** Lower bound of the time. What ends by it has certainly ended. */
  readonly atLeastUs: number;
  /**
   * When the clock was seen to jump ahead, in the clock's time after the jump; null: never. What was given before the
   * jump is due only when its whole time has passed after it: the holder has not had the time that the clock skipped.
   */
  readonly jumpedAtUs: number | null;
  /** What short steps ahead have skipped: claims are due by so much later than the clock says. */
  readonly skippedUs: number;
  /**
   * When this replica reached the database again after an outage, or first after its start; null: unknown. Others may
   * have been away for as long and come back later, so from then on places are kept for a grace period.
   */
  readonly backAtUs: number | null;
}

/** Bounds of how far the database's clock is ahead of the monotonic one. */
interface Ahead {
  readonly atLeastUs: number;
  readonly atMostUs: number;
}

export class DatabaseClock {
  #ahead: Ahead | null = null;
  /** The monotonic time of the last reading that was used. */
  #takenUs = Number.NEGATIVE_INFINITY;
  /** Readings asked for before this are not used: they may be older than a step of the clock, or than a doubt about it. */
  #askedFromUs = Number.NEGATIVE_INFINITY;
  #isDoubted = false;
  /**
   * The latest time that a decision got since the last step or doubt. Narrower bounds would set it back, and what is left of a
   * wait would exceed what was asked for. So no later decision gets an earlier time.
   */
  #givenUs = Number.NEGATIVE_INFINITY;
  /** Monotonic times, because these pass evenly however the clock is set. */
  #jumpedAtUs: number | null = null;
  #backAtUs: number | null = null;
  /**
   * What short steps had skipped when the last one was seen. It wears off at the rate of drift, so that a dead holder's long
   * lease does not last for ever beside a clock that is set often.
   */
  #skipped = { us: 0, seenUs: 0 };
  /** Whether the next reading is the first since the start, or since this replica could not reach the database. */
  #isBack = true;
  readonly #onJump: ((byUs: number) => void)[] = [];

  /** `listener` gets the size of a jump, in microseconds: positive is ahead. */
  onJump(listener: (byUs: number) => void): void {
    this.#onJump.push(listener);
  }

  /** To be called when this replica can reach the database again after an outage. */
  cameBack(): void {
    this.#isBack = true;
  }

  /**
   * Something that relied on the known bounds has failed. Nothing is known until a reading that is asked for after
   * this. What decisions got by these bounds counts no more: the clock may have been set back by an hour since.
   */
  doubt(monotonicUs: number): void {
    this.#isDoubted = true;
    this.#givenUs = Number.NEGATIVE_INFINITY;
    this.#askedFromUs = monotonicUs;
  }

  /**
   * To be called with each reading, before anything is decided by it. Returns the clock for a decision that made this reading
   * itself, after all that it decides about had arrived. `coarseUs`: how far the reading may be ahead of a clock that moves in
   * steps.
   */
  read(nowUs: number, askedUs: number, answeredUs: number, coarseUs = 0): Clock {
    const isTaken = this.#ahead === null || askedUs >= this.#askedFromUs;
    if (isTaken) {
      const driftUs = (answeredUs - askedUs) * CLOCK_DRIFT_MAX;
      const seen = { atLeastUs: nowUs - coarseUs - answeredUs, atMostUs: nowUs - askedUs + driftUs };
      this.#take(seen, answeredUs);
    }
    if (this.#isBack) this.#backAtUs = answeredUs;
    this.#isBack = false;
    const ahead = this.#aheadAt(answeredUs) as Ahead;
    // A reading from before a step must not end what counts by the clock after it, nor give less time than that clock
    // would.
    const atLeastUs = Math.min(nowUs - coarseUs, Math.floor(answeredUs + ahead.atLeastUs));
    const isOlder = !isTaken && !this.#isDoubted;
    if (!isOlder) return this.#clock(ahead, atLeastUs, nowUs, answeredUs);
    // This decision alone may get a time that lies ahead of the clock as it was set since.
    const atMostUs = Math.ceil(answeredUs + ahead.atMostUs);
    const clock = this.#clock(ahead, atLeastUs, atMostUs, answeredUs);
    return { ...clock, nowUs: Math.max(clock.nowUs, nowUs) };
  }

  /** The clock for a decision that does not read it; null: unknown, or not known within `unsureUsMax`. */
  estimate(monotonicUs: number, unsureUsMax: number): Clock | null {
    const ahead = this.#isDoubted ? null : this.#aheadAt(monotonicUs);
    if (!ahead) return null;
    const atLeastUs = Math.floor(monotonicUs + ahead.atLeastUs);
    const atMostUs = Math.ceil(monotonicUs + ahead.atMostUs);
    if (atMostUs - atLeastUs > unsureUsMax) return null;
    return this.#clock(ahead, atLeastUs, atMostUs, monotonicUs);
  }

  /** The earliest time that the clock may show now; null: unknown. */
  earliestUs(monotonicUs: number): number | null {
    const ahead = this.#isDoubted ? null : this.#aheadAt(monotonicUs);
    return ahead && Math.floor(monotonicUs + ahead.atLeastUs);
  }

  /** The latest time that the clock may show now, and at least the latest that a decision got; null: never known. */
  latestUs(monotonicUs: number): number | null {
    const ahead = this.#aheadAt(monotonicUs);
    return ahead && Math.max(this.#givenUs, Math.ceil(monotonicUs + ahead.atMostUs));
  }

  /** What was to be kept until this may be deleted; null: the time is unknown, or a jump is less than `keptForUs` ago. */
  forgettableUs(keptForUs: number, monotonicUs: number): number | null {
    if (this.#jumpedAtUs !== null && monotonicUs < this.#jumpedAtUs + keptForUs) return null;
    return this.earliestUs(monotonicUs);
  }

  #take(seen: Ahead, answeredUs: number): void {
    const known = this.#aheadAt(answeredUs);
    this.#takenUs = Math.max(this.#takenUs, answeredUs);
    const hasStepped = known !== null && !overlap(known, seen);
    if (known === null || hasStepped || this.#isDoubted) {
      this.#ahead = seen;
      this.#givenUs = Number.NEGATIVE_INFINITY;
      this.#askedFromUs = Math.max(this.#askedFromUs, answeredUs);
      this.#isDoubted = false;
    } else {
      this.#ahead = {
        atLeastUs: Math.max(known.atLeastUs, seen.atLeastUs),
        atMostUs: Math.min(known.atMostUs, seen.atMostUs),
      };
    }
    if (hasStepped) this.#step(known, seen, answeredUs);
  }

  #step(known: Ahead, seen: Ahead, answeredUs: number): void {
    const isAhead = seen.atLeastUs > known.atMostUs;
    const longestUs = isAhead ? seen.atMostUs - known.atLeastUs : known.atMostUs - seen.atLeastUs;
    // A clock that is set back takes no time from anybody, and returns what it has skipped. What is granted from here on
    // ends early when the clock is set right again, and that counts as a step ahead.
    const byUs = isAhead ? longestUs : seen.atMostUs - known.atLeastUs;
    const skippedUs = Math.max(0, this.#skippedUs(answeredUs) + byUs);
    const isJump = skippedUs >= CLOCK_JUMP_US_MIN;
    this.#skipped = { us: isJump ? 0 : skippedUs, seenUs: answeredUs };
    if (isJump) this.#jumpedAtUs = answeredUs;
    if (!isJump && longestUs < CLOCK_JUMP_US_MIN) return;
    for (const notify of this.#onJump) notify(Math.round(middle(seen) - middle(known)));
  }

  #skippedUs(monotonicUs: number): number {
    const { us, seenUs } = this.#skipped;
    return Math.max(0, us - Math.max(0, monotonicUs - seenUs) * CLOCK_DRIFT_MAX);
  }

  #aheadAt(monotonicUs: number): Ahead | null {
    if (this.#ahead === null) return null;
    const driftUs = Math.max(0, monotonicUs - this.#takenUs) * CLOCK_DRIFT_MAX;
    return { atLeastUs: this.#ahead.atLeastUs - driftUs, atMostUs: this.#ahead.atMostUs + driftUs };
  }

  #clock({ atMostUs }: Ahead, atLeastUs: number, latestUs: number, monotonicUs: number): Clock {
    const nowUs = Math.max(this.#givenUs, latestUs);
    this.#givenUs = nowUs;
    // In the clock's present time, however the clock was set since, and no earlier than it was.
    const inDatabaseTime = (thenUs: number | null) => (thenUs === null ? null : Math.ceil(thenUs + atMostUs));
    return {
      nowUs,
      atLeastUs,
      jumpedAtUs: inDatabaseTime(this.#jumpedAtUs),
      skippedUs: Math.ceil(this.#skippedUs(monotonicUs)),
      backAtUs: inDatabaseTime(this.#backAtUs),
    };
  }
}

function overlap(a: Ahead, b: Ahead): boolean {
  return a.atLeastUs <= b.atMostUs && b.atLeastUs <= a.atMostUs;
}

function middle({ atLeastUs, atMostUs }: Ahead): number {
  return (atLeastUs + atMostUs) / 2;
}
