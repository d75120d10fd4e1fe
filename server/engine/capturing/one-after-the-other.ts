// Work under one key is done one after the other, in the order in which it came. Knows nothing of the work, except what the one
// that comes next may want to know of it.

interface Entry<About> {
  readonly about: About;
  /** Settles with the work. */
  readonly done: Promise<unknown>;
}

export class OneAfterTheOther<About = undefined> {
  readonly #last = new Map<string, Entry<About>>();

  /**
   * The result of the work, which begins when the one before it has ended, however that went.
   *
   * @param work `before`: what was said of the one that it has waited for; undefined: none was under way.
   */
  async run<Result>(
    key: string,
    about: About,
    work: (before: About | undefined) => Promise<Result>,
  ): Promise<Result> {
    const before = this.#last.get(key);
    const done = after(before, work);
    const entry = { about, done };
    this.#last.set(key, entry);
    try {
      return await done;
    } finally {
      if (this.#last.get(key) === entry) this.#last.delete(key);
    }
  }
}

async function after<About, Result>(
  before: Entry<About> | undefined,
  work: (before: About | undefined) => Promise<Result>,
): Promise<Result> {
  await before?.done.catch(() => {});
  return await work(before?.about);
}
