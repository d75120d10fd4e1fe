// `npm run bad-days`: what each client says on a bad day. Plays every fault against a real server and MariaDB, in four
// languages and the shell, and writes docs/bad-days.md. With --check it writes nothing, and fails if anything but the
// times has changed. Each client must be built: `clients/*/scripts/build`. Ends within four minutes.

import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { makeCertificates } from "../../test/clients/conformance/certificates.ts";
import { openDatabases } from "../../test/clients/conformance/databases.ts";
import { endWithRunner, exitOnSignals } from "../../test/clients/conformance/end-with-runner.ts";
import { RowlockServer } from "../../test/clients/conformance/rowlock-server.ts";
import { freePort } from "../../test/support/mysql-family/private-server.ts";
import { TestCalls } from "../../test/support/test-calls.ts";
import { pageOf } from "./page.ts";
import { makePlayers, type Player, Playing, type Said, type Where } from "./players.ts";

const PAGE = join(import.meta.dirname, "../../docs/bad-days.md");
const ALL_MS_MAX = 235_000;

exitOnSignals();
setTimeout(() => {
  console.error(`It did not end within ${ALL_MS_MAX / 1_000} s.`);
  process.exit(1);
}, ALL_MS_MAX).unref();

const isCheck = process.argv.includes("--check");
const cleanups: (() => unknown)[] = [];

/** A server on a database of its own. */
async function serve(...flags: string[]): Promise<RowlockServer> {
  const database = await databases.fresh();
  cleanups.push(() => database.drop());
  const server = await RowlockServer.start(database.url, flags);
  cleanups.push(() => server.destroy());
  return server;
}

/** What all players say of a server that they cannot use. */
async function tried(players: readonly Player[], where: Where): Promise<Said[]> {
  return await Promise.all(players.map((player) => new Playing(player, where).said()));
}

/** What all players say of a fault that comes while they do this. */
async function struck(
  players: readonly Player[],
  address: string,
  during: "held" | "waiting",
  strike: (playing: readonly Playing[]) => unknown,
): Promise<Said[]> {
  const where = { address, giveUpS: during === "waiting" ? 10 : 30 };
  const playing = players.map((player) => new Playing(player, where));
  await Promise.all(playing.map((each) => each.heard(during)));
  const sinceMs = performance.now();
  await strike(playing);
  return await Promise.all(playing.map((each) => each.said(sinceMs)));
}

/** Somebody else holds what the players want. */
async function occupied(players: readonly Player[], address: string): Promise<void> {
  const calls = new TestCalls(address);
  for (const { language } of players)
    await calls.lease({ name: `job/${language.toLowerCase()}`, terms: { owner: "somebody else" } });
  calls.close();
}

/** Stops every thread of the database server until the returned function is called. */
async function freeze(url: string): Promise<() => void> {
  const connection = await createConnection(url);
  const [rows] = await connection.query("SELECT @@pid_file AS file");
  await connection.end();
  const pid = Number(await readFile((rows as { file: string }[])[0]?.file ?? "", "utf8"));
  const thaw = () => void process.kill(pid, "SIGCONT");
  const dismiss = endWithRunner(thaw);
  process.kill(pid, "SIGSTOP");
  return () => {
    thaw();
    dismiss();
  };
}

type Play = (players: readonly Player[]) => Promise<Said[]>;

const days: readonly [title: string, about: string, play: Play][] = [
  [
    "No server",
    "Nobody listens at the address.",
    async (players) => await tried(players, { address: `127.0.0.1:${await freePort()}` }),
  ],
  [
    "A web server at the port",
    "The address is that of a web server.",
    async (players) => {
      const web = createServer((_request, response) => response.end("hello"));
      web.listen(0, "127.0.0.1");
      await once(web, "listening");
      cleanups.push(() => web.close());
      return await tried(players, { address: `127.0.0.1:${(web.address() as AddressInfo).port}` });
    },
  ],
  [
    "The server wants TLS",
    "The client speaks plain text.",
    async (players) => await tried(players, { address: secure.address }),
  ],
  [
    "The server speaks plain text",
    "The client wants TLS.",
    async (players) =>
      await tried(players, {
        address: plain.address.replace("127.0.0.1", "localhost"),
        ca: certificates.files.ca as string,
      }),
  ],
  [
    "An unknown authority",
    "The client trusts the authorities of its system, and another one has signed the server's certificate.",
    async (players) =>
      await tried(players, { address: secure.address.replace("127.0.0.1", "localhost"), ca: "system" }),
  ],
  [
    "The server dies while a lock is held",
    "It is killed, and no other server takes over. The client has to report the loss before the lease ends, 5 s after its last renewal.",
    async (players) => {
      const server = await serve();
      return await struck(players, server.address, "held", () => server.signal("SIGKILL"));
    },
  ],
  [
    "The server dies during a wait",
    "It is killed, and no other server takes over.",
    async (players) => {
      const server = await serve();
      await occupied(players, server.address);
      return await struck(players, server.address, "waiting", () => server.signal("SIGKILL"));
    },
  ],
  [
    "The lease is forced",
    "An operator ends it: `rowlock release NAME --force --reason deploy`.",
    async (players) =>
      await struck(players, plain.address, "held", async (playing) => {
        const calls = new TestCalls(plain.address);
        for (const { lock } of playing)
          await calls.call("forceRelease", { target: { case: "name", value: lock }, reason: "deploy" });
        calls.close();
      }),
  ],
  [
    "The database freezes while a lock is held",
    "The work goes on until the client reports the loss.",
    async (players) => {
      let thaw = () => {};
      const said = await struck(players, plain.address, "held", async () => {
        thaw = await freeze(frozen.url);
      });
      thaw();
      return said;
    },
  ],
  [
    "The database freezes, and the work ends",
    "The work ends at once after the fault, so the client has to release the lock.",
    async (players) => {
      let thaw = () => {};
      const said = await struck(players, plain.address, "held", async (playing) => {
        thaw = await freeze(frozen.url);
        for (const each of playing) each.leave();
      });
      thaw();
      return said;
    },
  ],
];

const databases = await openDatabases({ ...process.env, ROWLOCK_TEST_DATABASES: "mariadb" });
const frozen = await databases.fresh();
const certificates = await makeCertificates("valid", false);
cleanups.push(
  () => databases.stop(),
  () => frozen.drop(),
  () => certificates.remove(),
);
const { players, remove } = makePlayers();
cleanups.push(remove);
const plain = await RowlockServer.start(frozen.url);
cleanups.push(() => plain.destroy());
const secure = await serve(...certificates.flags);

try {
  const played: Parameters<typeof pageOf>[0][number][] = [];
  for (const [title, about, play] of days) {
    console.error(`${title} (${Math.round(performance.now() / 1_000)} s)`);
    played.push({ title, about, said: await play(players) });
  }
  const page = pageOf(played);
  const timeless = (text: string) => text.replace(/\| (at once|[\d.]+ s) /g, "| TIME ");
  if (!isCheck) writeFileSync(PAGE, page);
  else if (timeless(page) !== timeless(readFileSync(PAGE, "utf8"))) {
    console.error(`${page}\nThe clients say something else than docs/bad-days.md: run \`npm run bad-days\`.`);
    process.exitCode = 1;
  }
} finally {
  for (const cleanup of cleanups.reverse()) await cleanup();
}
