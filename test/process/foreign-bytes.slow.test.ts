// Bytes that are not UTF-8, as a process gets them: in arguments, in the environment, and in files; and the mark that
// editors put before UTF-8.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freshSqlite } from "../support/database.ts";
import { processStage } from "./stage.ts";

const stage = processStage();
/** Node passes no such bytes on, so a shell makes them. */
const { sh } = stage;
const old = 'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.0.0" } });';
const preload = `data:text/javascript,${encodeURIComponent(`${old} process.execve = undefined;`)}`;

test.each([
  { by: "this Node", start: "bin/rowlock.mjs" },
  { by: "an older Node", start: `node --import '${preload}' bin/rowlock.mjs` },
])("$by refuses an argument that it would change", async ({ start }) => {
  const job = sh(`exec ${start} run "$(printf 'caf\\351')" true`);
  expect(await job.ended()).toMatchObject({
    code: 64,
    out: "",
    err: expect.stringMatching(/^rowlock: .*not valid UTF-8.*\n$/),
  });
});

test("a command gets the variables that Node would change, byte by byte", async () => {
  const server = await stage.serving(await stage.database(freshSqlite));
  const script = `FOREIGN="$(printf '\\351 %%d \\377\\n\\nx')"; export FOREIGN
exec bin/rowlock.mjs run foreign -- sh -c 'printf %s "$FOREIGN" | od -An -tx1'`;
  const { code, out, err } = await sh(script, { ROWLOCK_ADDR: server.grpcAddress }).ended();
  expect([code, out.trim(), err]).toEqual([0, "e9 20 25 64 20 ff 0a 0a 78", ""]);
});

test("a mark of editors before a file is skipped, and a file that is not UTF-8 is refused", async () => {
  const folder = stage.folder();
  const url = await stage.database(freshSqlite);
  const file = (name: string, text: string, encoding: BufferEncoding = "utf8") => {
    writeFileSync(join(folder, name), text, encoding);
    return join(folder, name);
  };
  const secret = file("url", `\ufeff${url}\n`);
  const settings = file("settings", `\ufeffROWLOCK_DATABASE_URL_FILE=${secret}\n`);
  const free = "--listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0";
  const server = sh(`exec bin/rowlock.mjs serve ${free} --config ${settings}`);
  await server.logged(/"msg":"serving"/);
  const latin1 = file("latin1", "mysql://caf\xe9@127.0.0.1/rowlock", "latin1");
  const refused = await sh(`exec bin/rowlock.mjs serve ${free} --database-url-file ${latin1}`).ended();
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringMatching(/cannot be read \(it is not valid UTF-8/),
  });
});
