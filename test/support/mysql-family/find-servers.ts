// Finds the MySQL-family servers of a run, in this order; each step only looks for flavours that are still missing:
//   1. what is named: ROWLOCK_TEST_MYSQL_URL, one or several, which ends the search, and ROWLOCK_TEST_MYSQLD's binaries
//   2. Docker, if an engine answers
//   3. mysqld or mariadbd on this machine
//   4. on Debian as root, MariaDB from the distribution's packages
// Never leaves databases out silently: if it finds none, it fails and names the choices.
import type { ChosenDatabases } from "./chosen-databases.ts";
import { dockerAnswers, startContainer } from "./containers.ts";
import type { Flavour } from "./found-server.ts";
import { identify } from "./identify.ts";
import { installMariadbOnDebian, localBinaries } from "./local-binaries.ts";
import type { RunningServer } from "./private-server.ts";
import { flavourOf, startPrivateServer } from "./private-server.ts";

const URL_PATIENCE_MS = 30_000;

const list = (setting: string | undefined) =>
  (setting ?? "").split(",").flatMap((entry) => entry.trim() || []);

/** Starts or finds servers of the chosen flavours; the caller stops them. If this fails, it has stopped them itself. */
export async function findServers(chosen: ChosenDatabases, env: NodeJS.ProcessEnv): Promise<RunningServer[]> {
  const running: RunningServer[] = [];
  const notes: string[] = [];
  const missing = () =>
    [...chosen.flavours].filter((flavour) => !running.some((r) => r.server.flavour === flavour));
  /** Starts all at once, keeps those that came up, and notes those that did not. */
  const add = async (starts: readonly Promise<RunningServer>[]) => {
    for (const result of await Promise.allSettled(starts)) {
      if (result.status === "fulfilled") running.push(result.value);
      else notes.push(String((result.reason as Error).message));
    }
  };
  const addBinaries = async (binaries: readonly string[], wanted: ReadonlySet<Flavour>) => {
    const starts = new Map<string, Promise<RunningServer>>();
    for (const binary of binaries) {
      const flavour = await flavourOf(binary);
      if (flavour === undefined) notes.push(`${binary} does not run here`);
      else if (wanted.has(flavour) && !starts.has(flavour))
        starts.set(flavour, startPrivateServer(binary, flavour));
    }
    await add([...starts.values()]);
  };

  const urls = list(env.ROWLOCK_TEST_MYSQL_URL);
  const binaries = list(env.ROWLOCK_TEST_MYSQLD);
  await add(
    urls.map(async (url) => ({ server: await identify(url, URL_PATIENCE_MS), stop: async () => {} })),
  );
  await addBinaries(binaries, chosen.flavours);
  // A named server that does not work is an error; nothing else replaces it.
  if (notes.length > 0) throw await failure(running, notes);

  const settled = () => (chosen.byName ? missing().length === 0 : running.length > 0);
  if (urls.length === 0 || !settled()) {
    if (missing().length > 0 && (await dockerAnswers())) await add(missing().map(startContainer));
    if (missing().length > 0) await addBinaries(localBinaries(), new Set(missing()));
    if (!settled() && missing().includes("mariadb") && installMariadbOnDebian()) {
      await addBinaries(localBinaries(), new Set(["mariadb"]));
    }
  }
  if (!settled()) {
    notes.unshift(`no server for ${missing().join(" or ")}`);
    throw await failure(running, notes);
  }
  for (const note of notes) console.error(`test databases: ${note}`);
  return running;
}

async function failure(running: readonly RunningServer[], notes: readonly string[]): Promise<Error> {
  await Promise.all(running.map((server) => server.stop()));
  return new Error(
    `The tests need a MySQL-family server, and ${notes.join("; ")}. Choose one:
  - ROWLOCK_TEST_MYSQL_URL=mysql://user:password@host:port  a server of yours (several, with commas between them)
  - start Docker                                            MySQL and MariaDB are started in it
  - install mysqld or mariadbd                              a private one is started on a free port
  - ROWLOCK_TEST_MYSQLD=/path/to/mysqld                     the same, from a binary that is not on the path
  - ROWLOCK_TEST_DATABASES=sqlite                           leave these databases out; also sqlite,mariadb and so on`,
  );
}
