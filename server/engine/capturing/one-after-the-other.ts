// Runs work under one key one after the other, in order of arrival. Knows nothing of the work, except that it passes the
// result of each piece of work on to the next.

export class OneAfterTheOther<Result> {
  readonly #last = new Map<string, Promise<Result>>();

  /**
   * Resolves or rejects as the work does. The work begins when the one before it has ended, with any result.
   *
   * @param work `before`: the result of the work that this one has waited for; undefined: there was none.
   */
  async run(key: string, work: (before: Result | undefined) => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key)?.catch(() => undefined);
    const done = (async () => await work(await before))();
    this.#last.set(key, done);
    try {
      return await done;
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key);
    }
  }
}
