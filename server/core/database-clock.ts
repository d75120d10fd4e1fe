// What this process knows of the database's clock. A reading was made at some time between its question and its answer,
// so it says only within bounds how far that clock is ahead of the monotonic one here. Readings are intersected, and
// widened by what the two may drift apart meanwhile. Where a reading and what was known cannot both be true, the clock has
// stepped: the reading counts from then on, and a long step is a jump. Pure: monotonic times are arguments, in microseconds.

import { CLOCK_DRIFT_MAX, CLOCK_JUMP_US_MIN } from "./bounds.ts";
import type { Clock } from "./rows.ts";

/** How far the database's clock is ahead of the monotonic one. */
interface Ahead {
  readonly atLeastUs: number;
  readonly atMostUs: number;
}

export class DatabaseClock {
  #ahead: Ahead | null = null;
  /** The monotonic time of the last reading that was taken. */
  #takenUs = Number.NEGATIVE_INFINITY;
  /** Readings that were asked for before this may be older than a step of the clock, or than a doubt about it. */
  #askedFromUs = Number.NEGATIVE_INFINITY;
  #isDoubted = false;
  /** The latest time that a decision was given since the last step: what is left of it is never more than was asked for. */
  #givenUs = Number.NEGATIVE_INFINITY;
  /** Monotonic times, as these pass evenly whatever becomes of the clock. */
  #jumpedAtUs: number | null = null;
  #backAtUs: number | null = null;
  /** Whether the next reading is the first since this replica was away from the database, or since its start. */
  #isBack = true;
  readonly #onJump: ((byUs: number) => void)[] = [];

  /** `listener` is told by how much the clock has jumped: positive is ahead. */
  onJump(listener: (byUs: number) => void): void {
    this.#onJump.push(listener);
  }

  /** To be called when this replica can reach the database again after it could not for a while. */
  cameBack(): void {
    this.#isBack = true;
  }

  /** Something that went by what is known has failed: nothing is known until a reading that is asked for after this. */
  doubt(monotonicUs: number): void {
    this.#isDoubted = true;
    this.#askedFromUs = monotonicUs;
  }

  /**
   * To be called with each reading, before anything is decided by it. Answers the clock for a decision that made this
   * reading itself, after all that it decides about had arrived and no other could come between. `coarseUs`: how far
   * the reading may be ahead of the clock, where that moves in steps.
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
    // One that may be older than a step must not end what counts by the time after it, nor give less than that.
    const atLeastUs = Math.min(nowUs - coarseUs, Math.floor(answeredUs + ahead.atLeastUs));
    const isOlder = !isTaken && !this.#isDoubted;
    const atMostUs = isOlder ? Math.max(nowUs, Math.ceil(answeredUs + ahead.atMostUs)) : nowUs;
    return this.#clock(ahead, atLeastUs, atMostUs);
  }

  /** The clock for a decision that does not read it; null: it is not known within `unsureUsMax`. */
  estimate(monotonicUs: number, unsureUsMax: number): Clock | null {
    const ahead = this.#isDoubted ? null : this.#aheadAt(monotonicUs);
    if (!ahead) return null;
    const atLeastUs = Math.floor(monotonicUs + ahead.atLeastUs);
    const atMostUs = Math.ceil(monotonicUs + ahead.atMostUs);
    return atMostUs - atLeastUs > unsureUsMax ? null : this.#clock(ahead, atLeastUs, atMostUs);
  }

  /** The earliest that it may be by now; null: not known. */
  earliestUs(monotonicUs: number): number | null {
    const ahead = this.#isDoubted ? null : this.#aheadAt(monotonicUs);
    return ahead && Math.floor(monotonicUs + ahead.atLeastUs);
  }

  /** The latest that it may be by now, by the last that was known, and that it was given; null: nothing ever was known. */
  latestUs(monotonicUs: number): number | null {
    const ahead = this.#aheadAt(monotonicUs);
    return ahead && Math.max(this.#givenUs, Math.ceil(monotonicUs + ahead.atMostUs));
  }

  /** What is kept for so long may be forgotten up to this time; null: nothing may, or that is not known. */
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
    if (longestUs < CLOCK_JUMP_US_MIN) return;
    // Set back, it takes nothing from anybody; what is granted from here on ends early when it is set right again, and
    // that is then a jump ahead.
    if (isAhead) this.#jumpedAtUs = answeredUs;
    for (const tell of this.#onJump) tell(Math.round(middle(seen) - middle(known)));
  }

  #aheadAt(monotonicUs: number): Ahead | null {
    if (this.#ahead === null) return null;
    const driftUs = Math.max(0, monotonicUs - this.#takenUs) * CLOCK_DRIFT_MAX;
    return { atLeastUs: this.#ahead.atLeastUs - driftUs, atMostUs: this.#ahead.atMostUs + driftUs };
  }

  /**
   * Bounds that become narrower would set the latest time back, and a wait that has just been given would seem longer than
   * it was asked for. So the time that decisions give by does not go back unless the clock does.
   */
  #clock({ atMostUs }: Ahead, atLeastUs: number, latestUs: number): Clock {
    const nowUs = Math.max(this.#givenUs, latestUs);
    this.#givenUs = nowUs;
    // As the clock goes now, whatever it has been set to since, and no earlier than it was.
    const told = (monotonicUs: number | null) =>
      monotonicUs === null ? null : Math.ceil(monotonicUs + atMostUs);
    return { nowUs, atLeastUs, jumpedAtUs: told(this.#jumpedAtUs), backAtUs: told(this.#backAtUs) };
  }
}

function overlap(a: Ahead, b: Ahead): boolean {
  return a.atLeastUs <= b.atMostUs && b.atLeastUs <= a.atMostUs;
}

function middle({ atLeastUs, atMostUs }: Ahead): number {
  return (atLeastUs + atMostUs) / 2;
}
