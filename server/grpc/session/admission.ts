// How many commands of one session the engine has at a time, so that a session which sends thousands does not stand
// before the commands of all others. Those that keep leases, and give them back, go first.

import type { LockEngine } from "../../engine/lock-engine.ts";

export class Admission {
  readonly #atOnce: number;
  #underWay = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #others: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** The engine, for commands of this session. What only reads has bounds of its own. */
  admit(engine: LockEngine): LockEngine {
    const inTurn = <Answer>(isUrgent: boolean, run: () => Promise<Answer>) => this.#run(isUrgent, run);
    return {
      acquire: (...asked) => inTurn(false, () => engine.acquire(...asked)),
      capture: (...asked) => inTurn(false, () => engine.capture(...asked)),
      // What waits takes no room from what does not.
      captureWhenFree: (...asked) => engine.captureWhenFree(...asked),
      attach: (...asked) => inTurn(false, () => engine.attach(...asked)),
      renew: (...asked) => inTurn(true, () => engine.renew(...asked)),
      release: (...asked) => inTurn(true, () => engine.release(...asked)),
      setLimit: (...asked) => inTurn(false, () => engine.setLimit(...asked)),
      setLimitRule: (...asked) => inTurn(false, () => engine.setLimitRule(...asked)),
      forceRelease: (...asked) => inTurn(false, () => engine.forceRelease(...asked)),
      updateLock: (...asked) => inTurn(false, () => engine.updateLock(...asked)),
      deleteLock: (...asked) => inTurn(false, () => engine.deleteLock(...asked)),
      confirm: (...asked) => inTurn(true, () => engine.confirm(...asked)),
      detach: (...asked) => engine.detach(...asked),
      onLost: (...asked) => engine.onLost(...asked),
      nowUs: () => engine.nowUs(),
      place: (...asked) => engine.place(...asked),
      holders: (...asked) => engine.holders(...asked),
      limit: (...asked) => engine.limit(...asked),
      view: (...asked) => engine.view(...asked),
      watchLocks: (...asked) => engine.watchLocks(...asked),
      views: (...asked) => engine.views(...asked),
      limits: (...asked) => engine.limits(...asked),
    };
  }

  #run<Answer>(isUrgent: boolean, run: () => Promise<Answer>): Promise<Answer> {
    if (this.#underWay >= this.#atOnce) {
      const turn = new Promise<void>((go) => (isUrgent ? this.#urgent : this.#others).push(go));
      return turn.then(() => this.#start(run));
    }
    this.#underWay += 1;
    return this.#start(run);
  }

  #start<Answer>(run: () => Promise<Answer>): Promise<Answer> {
    const answer = run();
    answer.then(this.#leave, this.#leave);
    return answer;
  }

  /** Whoever is next takes over the room. */
  readonly #leave = (): void => {
    const next = this.#urgent.shift() ?? this.#others.shift();
    if (next) next();
    else this.#underWay -= 1;
  };
}
