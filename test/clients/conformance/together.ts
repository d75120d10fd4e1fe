// Several things at a time, and no more.

/** Begins them in order, `atOnce` at a time. Rejects with the first failure, when none is under way any more. */
export async function together<Item>(
  atOnce: number,
  items: readonly Item[],
  run: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const hand = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await run(item);
  };
  const hands = await Promise.allSettled(Array.from({ length: atOnce }, hand));
  for (const { status, ...outcome } of hands)
    if (status === "rejected") throw (outcome as PromiseRejectedResult).reason;
}
