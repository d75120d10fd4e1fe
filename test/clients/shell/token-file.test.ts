// Who asks: the file of a token, what is wrong with it, and what the shell says if a server does not accept it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Gate } from "../../../server/access/access.ts";
import { credentialsExpired } from "../../../server/access/access-error.ts";
import { ranInProcess } from "../../cli/in-process.ts";
import { startServer, type TestServer } from "../../support/harness.ts";
import { knownCallers } from "../../support/known-callers.ts";

const folder = mkdtempSync(join(tmpdir(), "rowlock-token-file-"));
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const { access, tokens } = knownCallers(
  ["known", "other"],
  'rules: [{ who: token:known, may: read, on: "*" }]',
);
const good = file("good", `${tokens.known}\n`);
const other = file("other", `${tokens.other}\n`);
const wrong = file("wrong", "secret-token\n");
const old = file("old", "old-token");
let server: TestServer;
beforeAll(async () => {
  const identify: Gate["identify"] = (credentials) => {
    if (credentials.authorization[0] === "Bearer old-token") throw credentialsExpired();
    return access.identify(credentials);
  };
  server = await startServer({ grpc: { gate: { identify } } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const ran = (args: readonly string[], env = {}) =>
  ranInProcess(args, env, (path) => readFileSync(path, "utf8"));
const asked = (...flags: string[]) => ran(["ls", "--addr", server.address, ...flags]);

test("a token comes from a file that a flag or the environment names, and is sent", async () => {
  expect(await asked("--token-file", good)).toMatchObject({ code: 0, err: "" });
  const env = { ROWLOCK_ADDR: server.address, ROWLOCK_TOKEN_FILE: good };
  expect(await ran(["ls"], env)).toMatchObject({ code: 0, err: "" });
  expect((await ran(["ls", "--token-file", wrong], env)).code).toBe(77);
});

test("the fencing token of a lock is no such token", async () => {
  const { code, err } = await ran(["ls", "--addr", server.address], { ROWLOCK_TOKEN: tokens.known ?? "" });
  expect([code, err]).toEqual([77, expect.stringContaining("The server wants to know who asks")]);
});

test.each([
  [
    "none",
    [],
    /^rowlock: The server wants to know who asks: name a file .* with --token-file, or .*--key\.\n$/,
  ],
  [
    "an unknown one",
    ["--token-file", wrong],
    /^rowlock: The server does not know the token in \S*\/wrong: ask .*\n$/,
  ],
  [
    "an old one",
    ["--token-file", old],
    /^rowlock: The server does not accept the token in \S*\/old .*get a new one\.\n$/,
  ],
])("if a server refuses %s, the command says what to do and ends with 77", async (_, flags, words) => {
  const { code, err } = await asked(...flags);
  expect([code, err]).toEqual([77, expect.stringMatching(words)]);
  expect(err).not.toContain("secret-token");
});

test("what the policy does not allow names the right and who asks", async () => {
  const { code, err } = await ran(["show", "etl", "--addr", server.address, "--token-file", other]);
  expect([code, err]).toEqual([
    77,
    'rowlock: The policy of the server does not give token:other the right "read" for this: ask those who write the policy.\n',
  ]);
});

describe("nothing is sent if the file", () => {
  const at = ["--addr", "localhost:50051", "--token-file"];
  test.each([
    [
      "is not there",
      [...at, "/no/such/file"],
      /--token-file \/no\/such\/file: there is no such file: name one/,
    ],
    ["is empty", [...at, file("empty", "\n")], /empty: it is empty: write the token into it/],
    ["has more than a token", [...at, file("two", "secret token")], /two: this is not a token/],
    [
      "would go to another machine",
      ["--addr", "locks:1", "--token-file", good],
      /connection to locks is not encrypted/,
    ],
  ])("%s", async (_, flags, words) => {
    const { code, err } = await ran(["ls", ...flags]);
    expect([code, err]).toEqual([64, expect.stringMatching(words)]);
    expect(err).not.toContain("secret");
  });

  test("is only one of the mistakes", async () => {
    const { err } = await ran(["ls", "--addr", "locks:1,a", "--token-file", "/no/such/file"]);
    expect(err).toContain("3 things are wrong");
  });

  test("but it is sent in plain text if that is wanted", async () => {
    const insisting = ["ls", "--addr", "locks.invalid:1", "--token-file", good, "--give-up-after", "100ms"];
    const { code, err } = await ran([...insisting, "--allow-token-in-plaintext"]);
    expect([code, err]).toEqual([69, expect.stringContaining("there is no such host")]);
  });
});
