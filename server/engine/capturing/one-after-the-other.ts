// Runs work under one key one after the other, in order of arrival. Knows nothing of the work, except what it passes on
// about each piece of work to the next.

interface Entry<About> {
  readonly about: About;
  /** Settles with the work. */
  readonly done: Promise<unknown>;
}

export class OneAfterTheOther<About = undefined> {
  readonly #last = new Map<string, Entry<About>>();

  /**
   * Resolves or rejects as the work does. The work begins when the one before it has ended, with any result.
   *
   * @param work `before`: the `about` of the work that this one has waited for; undefined: none was under way.
   */
  async run<Result>(
    key: string,
    about: About,
    work: (before: About | undefined) => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(key);
    const done = (async () => {
      await before?.done.catch(() => {});
      return await work(before?.about);
    })();
    const entry = { about, done };
    this.#last.set(key, entry);
    try {
      return await done;
    } finally {
      if (this.#last.get(key) === entry) this.#last.delete(key);
    }
  }
}
