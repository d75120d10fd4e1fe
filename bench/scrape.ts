// Reads a server's metrics, for what it did during a run.

/** For each metric name, the sum over all labels. */
export async function scrape(address: string): Promise<Map<string, number>> {
  const text = await (await fetch(`http://${address}/metrics`)).text();
  const samples = new Map<string, number>();
  for (const [, name, value] of text.matchAll(/^(\w+)(?:\{[^}]*\})? (\S+)$/gm)) {
    samples.set(name as string, (samples.get(name as string) ?? 0) + Number(value));
  }
  return samples;
}

/** The mean of what a histogram or summary counted between two scrapes; undefined if it counted nothing. */
export function meanBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  name: string,
): number | undefined {
  const rise = (sample: string) => (after.get(sample) ?? 0) - (before.get(sample) ?? 0);
  return rise(`${name}_count`) === 0 ? undefined : rise(`${name}_sum`) / rise(`${name}_count`);
}
