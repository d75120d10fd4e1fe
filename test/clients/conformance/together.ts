// Runs a bounded number of things at a time.

/**
 * Starts items in order, `atOnce` at a time. If one fails, rejects with the first failure after all running items
 * have ended.
 */
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
