// Arguments and variables that are not UTF-8: refused where Node would change them, and named by their bytes.

import { expect, test } from "vitest";
import { bytesOfVariables, wordsFault } from "../../server/cli/given-words.ts";

const latin1 = (...words: string[]) => Buffer.from(words.map((word) => `${word}\0`).join(""), "latin1");
const none = Buffer.alloc(0);

test("an argument in Latin-1 is refused, wherever it stands, and valid text is not", () => {
  const refused = (args: string[], ...cmdline: string[]) =>
    wordsFault({ cmdline: latin1("node", "rowlock", ...cmdline), environ: none, args });
  expect(refused(["run", "caf\ufffd"], "run", "caf\xe9")).toBe(
    'rowlock: The argument "caf\\xe9" is not valid UTF-8, and Node would turn it into another one: write it in UTF-8.\n',
  );
  expect(refused(["run", "job", "rm", "\ufffd", ""], "run", "job", "rm", "\xe9", "")).toMatch(/"\\xe9"/);
  const valid = Buffer.from("node\0rowlock\0run\0café \ufffd\0\0");
  expect(wordsFault({ cmdline: valid, environ: none, args: ["run", "café \ufffd", ""] })).toBeUndefined();
  // Where the bytes cannot be seen.
  expect(wordsFault({ cmdline: none, environ: none, args: ["caf\ufffd"] })).toMatch(/U\+FFFD/);
});

test("variables of Rowlock are refused, and the bytes of others are kept for commands", () => {
  const environ = latin1("ROWLOCK_ADDR=\xe9", "NAME=a\xe9b", "PLAIN=x", "odd.name=\xe9");
  expect(wordsFault({ cmdline: latin1("node"), environ, args: [] })).toMatch(
    /ROWLOCK_ADDR is not valid UTF-8/,
  );
  const others = latin1("NAME=a\xe9b");
  expect(wordsFault({ cmdline: latin1("node"), environ: others, args: [] })).toBeUndefined();
  expect([...bytesOfVariables(environ).keys()]).toEqual(["ROWLOCK_ADDR", "NAME"]);
  expect(bytesOfVariables(environ).get("NAME")).toEqual(Buffer.from("a\xe9b", "latin1"));
});
