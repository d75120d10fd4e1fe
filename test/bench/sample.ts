// One figure line of the bench: what one system did at one work in one round.

import { etcdCounterpart } from "./works.ts";

export interface Sample {
  readonly round: number;
  /** As the table shows it. */
  readonly work: string;
  readonly system: string;
  /** Pairs of Acquire and Release; of one hot name these are hand-overs, of a bare database transactions. */
  readonly perSecond?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** Of Rowlock's own transactions. */
  readonly commandsPerTransaction?: number | undefined;
  readonly roundTripsPerTransaction?: number | undefined;
  /** The rate, divided by that of the other system in the same round. */
  readonly ofEtcd?: number;
  readonly ofNothing?: number;
  /** Why there are no figures. */
  readonly failure?: string;
}

/** With the ratios, where the others were measured in the same round at the same work. */
export function withRatios(samples: readonly Sample[]): Sample[] {
  const rate = ({ round }: Sample, work: string | undefined, system: string) =>
    samples.find((other) => other.round === round && other.work === work && other.system === system)
      ?.perSecond;
  return samples.map((sample) => {
    const { perSecond, work } = sample;
    if (perSecond === undefined) return sample;
    const etcd = rate(sample, etcdCounterpart(work), "etcd");
    const nothing = rate(sample, work, "nothing");
    return {
      ...sample,
      ...(etcd && { ofEtcd: perSecond / etcd }),
      ...(nothing && { ofNothing: perSecond / nothing }),
    };
  });
}
