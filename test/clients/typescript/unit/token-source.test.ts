// Where a token comes from, what it may be, and over which connections it may go. No error shows it.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { mayChange, presentedHeaders } from "../../../../clients/typescript/src/connection/presented.ts";
import { type ConnectOptions, settingsOf } from "../../../../clients/typescript/src/options.ts";
import { readToken, type TokenSource } from "../../../../clients/typescript/src/token-source.ts";

function fileWith(content: string): string {
  const folder = mkdtempSync(join(tmpdir(), "rowlock-token-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "token");
  writeFileSync(file, content);
  return file;
}

describe("a token", () => {
  test("is a text, in a file that is read each time, or returned by a function", async () => {
    expect(await readToken("abc")).toBe("abc");
    const file = fileWith("first\n");
    expect(await readToken({ file })).toBe("first");
    writeFileSync(file, " second\r\n");
    expect(await readToken({ file })).toBe("second");
    let count = 0;
    const source = async () => `t${++count}`;
    expect([await readToken(source), await readToken(source)]).toEqual(["t1", "t2"]);
  });

  test.each<[string, () => TokenSource, string]>([
    ["a file that is not there", () => ({ file: "/no/such/file" }), "/no/such/file cannot be read (ENOENT)"],
    ["an empty file", () => ({ file: fileWith("\n") }), "it is empty"],
    ["a file of two lines", () => ({ file: fileWith("secret\nsecret") }), "a space or a character"],
    ["a function that throws", () => () => Promise.reject(new Error("away")), "function failed: Error: away"],
    ["a function without a result", () => (() => undefined) as never, "is not a text"],
    ["a function that returns a bad text", () => () => "secrét", "a space or a character that no header"],
  ])("is missing: %s", async (_, source, words) => {
    const error = await readToken(source()).catch((error: Error) => error);
    expect(error).toMatchObject({ reason: "CREDENTIALS_MISSING", code: "UNAUTHENTICATED" });
    expect(String(error)).toContain(words);
    expect(String(error)).not.toContain("secr");
  });

  test.each(["", " ", "two words", "line\nsecret"])("%j is refused as an option", (token) => {
    const make = () => settingsOf({ addresses: "localhost:1", token });
    expect(make).toThrow(/^token: it (is empty|has a space or a character that no header can hold)$/);
  });

  test("is sent beside the user's own headers, which may not have another one", async () => {
    const own = { headers: { a: "b" }, token: "abc" };
    expect(await presentedHeaders(own)).toEqual({ a: "b", authorization: "Bearer abc" });
    const made = { headers: () => ({ authorization: "own" }), token: () => "abc" };
    expect(await presentedHeaders(made)).toEqual({ authorization: "Bearer abc" });
    expect(await presentedHeaders({})).toEqual({});
    const both = { addresses: "localhost:1", token: "abc", headers: { Authorization: "x" } };
    expect(() => settingsOf(both)).toThrow("headers: leave authorization out");
  });
});

describe("without TLS", () => {
  const of = (addresses: string | string[], more: Partial<ConnectOptions> = {}) =>
    settingsOf({ addresses, token: "abc", ...more });

  test.each(["localhost:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/run/rowlock", "localhost"])(
    "a token may go to %s",
    (address) => expect(of(address).token).toBe("abc"),
  );

  const FAR = "locks:1 10.0.0.1:1 [::2]:1 127.evil.example:1 localhost.evil.example:1 0.0.0.0:1";
  test.each(FAR.split(" "))("a token may not go to %s", (address) => {
    expect(() => of(["localhost:1", address])).toThrow(`the connection to ${address} is not encrypted`);
    expect(() => of(address, { token: { file: "/no/such/file" } })).toThrow("not encrypted");
    expect(() => of(address, { tls: false })).toThrow("not encrypted");
    expect(of(address, { allowTokenInPlaintext: true }).token).toBe("abc");
    expect(of(address, { tls: { serverName: "locks" } }).token).toBe("abc");
  });
});

test("what comes from a file or a function may change, and all else stays", () => {
  const file = { file: "a" };
  for (const options of [{ token: file }, { token: () => "a" }, { headers: () => ({}) }])
    expect(mayChange(options)).toBe(true);
  for (const part of ["ca", "cert", "key"]) expect(mayChange({ tls: { [part]: file } })).toBe(true);
  for (const tls of [true, { ca: "a", cert: Buffer.from("b"), key: "c" }])
    expect(mayChange({ token: "a", headers: {}, tls })).toBe(false);
  expect(mayChange({})).toBe(false);
});
