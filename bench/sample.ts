// One line of figures: the result of one system for one work in one round.

import { etcdCounterpart } from "./works.ts";

export interface Sample {
  readonly round: number;
  /** As the table shows it. */
  readonly work: string;
  readonly system: string;
  /** Pairs of Acquire and Release. For one hot name these are hand-overs, for a bare database transactions. */
  readonly perSecond?: number;
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** For Rowlock's own transactions. */
  readonly commandsPerTransaction?: number | undefined;
  readonly roundTripsPerTransaction?: number | undefined;
  /** Microseconds of processor time a pair: of the system itself, and of its database. */
  readonly serverUs?: number;
  readonly databaseUs?: number;
  /** The rate divided by the other system's rate in the same round. */
  readonly ofEtcd?: number;
  readonly ofNothing?: number;
  /** Why there are no figures. */
  readonly failure?: string;
}

/** Adds the ratios if the other systems were measured in the same round for the same work. */
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
