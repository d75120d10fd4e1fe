// Which of several servers of one database to use, from one look at all of them. Pure: what was seen, and nothing else.
//
// Servers that can be written at once are either nodes of one cluster, which agree about every commit, or separate: a source
// that was not demoted beside its promoted replica, for example. Of separate servers only one has the present rows: that with
// the highest epoch, which a Rowlock server raises when it first decides at a promoted server. With equal epochs nobody has
// decided at the other one yet, and a server that works is not left.

export interface SeenServer {
  readonly isUsable: boolean;
  /** The id of the server or of its cluster; null: it has none (TiDB), or it was not reached. */
  readonly identity: string | null;
  readonly isSynced: boolean;
  /** Whether it has been usable for so long that it is worth coming back to. */
  readonly isSettled: boolean;
  readonly isStuck: boolean;
  /** The epoch of its rows; null: it has no schema yet. */
  readonly epoch: bigint | null;
  readonly isOwn: boolean;
}

export interface UsedRows {
  readonly epoch: bigint;
  readonly identity: string | null;
}

/** Returns the index of the server to use, of `servers` in the order of preference; null: none can be used. */
export function bestServer(
  servers: readonly SeenServer[],
  chosen: number | null,
  used: UsedRows | null,
): number | null {
  const candidates = servers
    .map((server, index) => ({ ...server, index, isChosen: index === chosen }))
    .filter(({ isUsable }) => isUsable)
    .filter((server) => server.isChosen || !isLeftBehind(server, used));
  const newest = candidates
    .map(({ epoch }) => epoch ?? NO_EPOCH)
    .reduce((one, other) => (other > one ? other : one), NO_EPOCH);
  const lines = new Set(candidates.filter(({ epoch }) => (epoch ?? NO_EPOCH) === newest).map(lineOf));
  // A node of the same cluster may not have applied yet what raised the epoch.
  const present = candidates.filter((candidate) => lines.has(lineOf(candidate)));
  const [best] = present.sort(
    (a, b) =>
      Number(a.isStuck) - Number(b.isStuck) ||
      Number(b.isChosen) - Number(a.isChosen) ||
      Number(b.isOwn) - Number(a.isOwn) ||
      Number(b.isSynced) - Number(a.isSynced) ||
      a.index - b.index,
  );
  if (best === undefined) return null;
  if (!best.isChosen || best.identity === null) return best.index;
  // In one cluster all Rowlock servers should use one node, as decisions at two nodes conflict: the first of the list.
  const preferred = present.find(
    ({ identity, index, isSynced, isSettled, isStuck }) =>
      identity === best.identity && index < best.index && isSynced && isSettled && !isStuck,
  );
  return (preferred ?? best).index;
}

/** The servers that can be written although they are separate from the chosen one. */
export function separateWritable(servers: readonly SeenServer[], chosen: number): number[] {
  const line = lineOf(servers[chosen] as SeenServer);
  return servers.flatMap((server, index) =>
    index !== chosen && server.isUsable && lineOf(server) !== line ? [index] : [],
  );
}

/** Whether this process has used rows of a later epoch elsewhere: the server must not be used, whatever happens. */
export function isLeftBehind({ epoch, identity }: SeenServer, used: UsedRows | null): boolean {
  return used !== null && identity !== used.identity && (epoch ?? NO_EPOCH) < used.epoch;
}

const NO_EPOCH = -1n;

/** The same for servers that share all commits. TiDB's servers do, and have no identity. */
function lineOf({ identity }: SeenServer): string {
  return identity ?? "";
}
