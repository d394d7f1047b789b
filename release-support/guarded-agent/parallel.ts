/**
 * Does the work for all items at once. A failure is reported only after every one has ended: nothing goes on behind it.
 *
 * @returns the results in the order of the items
 * @throws the first failure in the order of the items
 */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result>,
): Promise<Result[]> {
  const ends = await Promise.allSettled(items.map(work));
  return ends.map((end) => {
    if (end.status === "rejected") throw end.reason as Error;
    return end.value;
  });
}
