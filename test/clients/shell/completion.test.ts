// What `rowlock __complete` offers for the last word of a line, without a shell: `test/process/completion` presses the key.

import { describe, expect, test } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";

const SERVERS = JSON.stringify({ production: { addresses: "a:1" }, staging: { addresses: "b:1" } });

const ENDS =
  "released failed expired force-released cancelled lapsed timed-out never-fits exhausted status-mismatch spent superseded";

/** The words of the line are separated by single spaces; a space at its end begins an empty word. */
async function offered(line: string, env: Record<string, string> = {}) {
  const { code, out, err } = await ranInProcess(["__complete", ...line.split(" ")], env, () => SERVERS);
  expect([code, err]).toEqual([0, ""]);
  const [kind, ...lines] = out.trimEnd().split("\n");
  return { kind, words: lines.map((each) => each.split("\t")[0]), lines };
}

describe("a word", () => {
  test("that begins a line is a command, with what it does", async () => {
    const { kind, words, lines } = await offered("");
    expect(kind).toBe("words");
    expect(words).toEqual(expect.arrayContaining(["serve", "run", "completion", "help"]));
    expect(words).not.toContain("__complete");
    expect(lines).toContain("ls\tlist locks");
  });

  test.each([
    ["migrate ", ["up", "status", "help"]],
    ["completion ", ["bash", "zsh", "fish"]],
    ["ls --order ", ["name", "longest-wait", "most-waiters"]],
    ["ls --order=l", ["--order=name", "--order=longest-wait", "--order=most-waiters"]],
    ["top --by ", ["name", "owner", "principal", "class"]],
    ["history --ended=exp", ENDS.split(" ").map((end) => `--ended=${end}`)],
    ["why --server ", ["production", "staging"]],
    ["ls --server ", ["production", "staging"]],
    ["ls --server=p", ["--server=production", "--server=staging"]],
    ["limit pool/gpu ", []],
    ["release ", []],
    ["renew ", []],
    ["show --give-up-after ", []],
    ["no-such-command ", []],
  ])("after %j is one of %j", async (line, words) => {
    expect(await offered(line)).toMatchObject({ kind: "words", words });
  });

  test("with a dash is a flag, with its help", async () => {
    const { lines } = await offered("renew some-lease --");
    expect(lines).toContain("--json\tone object");
    expect(lines).toContain("--help\tprint help");
    expect((await offered("migrate up --")).words).toContain("--database-url");
    // This value may be left out.
    expect((await offered("serve --allow-plaintext --list")).words).toContain("--listen");
  });

  test.each(["ls --ca ", "ls --ca=", "serve --config ", "migrate up --config="])(
    "after %j is a file",
    async (line) => {
      expect(await offered(line)).toMatchObject({ kind: "files", words: [] });
    },
  );

  test.each([
    ["run job -- ", 3],
    ["run job -- ls -", 3],
    ["run job ", 2],
    ["run job ls --", 2],
    ["run --owner me job --wait 5s ls -", 6],
    ["capture task/ --wait 5s -- x y", 5],
  ])("of %j belongs to the command that is run, behind %d words", async (line, at) => {
    expect(await offered(line)).toMatchObject({ kind: `command ${at}`, words: [] });
  });

  test("before the name of the command that is run is a flag or its value", async () => {
    expect((await offered("run job --no-w")).words).toContain("--no-wait");
    expect(await offered("run job --owner ")).toMatchObject({ kind: "words", words: [] });
  });
});

test.each([
  ["show ", { ROWLOCK_ADDR: "no address" }],
  ["show ", { ROWLOCK_ADDR: "127.0.0.1:9" }],
  ["why ", { ROWLOCK_ADDR: "127.0.0.1:9" }],
  ["history ", { ROWLOCK_ADDR: "127.0.0.1:9" }],
  ["show --server nobody ", {}],
  ["show --give-up-after never ", {}],
  ["run --permits -1 --label =x --shared --exclusive ", { ROWLOCK_CA: "missing" }],
])("nothing is offered and no error is printed for %j with %j", async (line, env) => {
  expect(await offered(line, env)).toMatchObject({ kind: "words", words: [] });
});
