// The file of named servers: where it is, what it may contain, and that all of its mistakes are reported at once.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { ranInProcess } from "../../cli/in-process.ts";
import { selfSignedCertificate } from "../../process/certificate.ts";
import { startServer, type TestServer } from "../../support/harness.ts";

const HOME_FILE = "/home/test/.config/rowlock/servers.json";

let harness: TestServer;
beforeAll(async () => {
  harness = await startServer();
});
afterAll(() => harness.stop());

/** Runs a command with this servers file and with other files that it names. */
function ran(args: readonly string[], content: unknown, env = {}, more: Record<string, string> = {}) {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const files: Record<string, string> = { [HOME_FILE]: text, ...more };
  return ranInProcess(args, env, (path) => {
    const found = files[path];
    if (found === undefined) throw Object.assign(new Error("ENOENT"), { code: "ENOENT" });
    return found;
  });
}

describe("a server has its name", () => {
  test("from a flag or the environment, and the flag wins", async () => {
    const servers = { here: { addresses: [harness.address] }, away: { addresses: "127.0.0.1:9" } };
    expect(await ran(["ls", "--server", "here"], servers)).toMatchObject({ code: 0, err: "" });
    expect(await ran(["ls"], servers, { ROWLOCK_SERVER: "here" })).toMatchObject({ code: 0 });
    const flagged = ["ls", "--server", "here"];
    expect(await ran(flagged, servers, { ROWLOCK_SERVER: "away" })).toMatchObject({ code: 0 });
    expect(await ran(flagged, servers, { ROWLOCK_ADDR: "127.0.0.1:9" })).toMatchObject({ code: 0 });
  });

  test("with the paths of files relative to its folder", async () => {
    const { cert, key } = selfSignedCertificate();
    const files = { ca: "ca.pem", cert: "own/cert.pem", key: "own/key.pem", tokenFile: "token" };
    const servers = { secure: { addresses: "localhost:9", ...files } };
    const args = ["ls", "--server", "secure", "--give-up-after", "100ms"];
    const home = mkdtempSync(join(tmpdir(), "rowlock-servers-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const folder = join(home, "rowlock");
    mkdirSync(join(folder, "own"), { recursive: true });
    writeFileSync(join(folder, "servers.json"), JSON.stringify(servers));
    const contents = { "ca.pem": cert, "own/cert.pem": cert, "own/key.pem": key, token: "a-token" };
    for (const [name, content] of Object.entries(contents)) writeFileSync(join(folder, name), content);
    const real = (path: string) => readFileSync(path, "utf8");
    const found = await ranInProcess(args, { XDG_CONFIG_HOME: home }, real);
    expect(found).toMatchObject({ code: 69, err: expect.stringContaining("nobody listens") });
    const missing = await ran(args, servers);
    for (const file of Object.values(files))
      expect(missing.err).toContain(`/home/test/.config/rowlock/${file}: there is no such file`);
  });

  test("but not together with an address", async () => {
    const both = await ran(["ls", "--server", "a", "--addr", "b:1"], { a: { addresses: "a:1" } });
    expect(both).toMatchObject({ code: 64, err: expect.stringContaining("leave one of them out") });
    const env = { ROWLOCK_SERVER: "a", ROWLOCK_ADDR: "b:1" };
    const set = await ran(["ls"], { a: { addresses: "a:1" } }, env);
    expect(set).toMatchObject({ code: 64, err: expect.stringContaining("unset one of them") });
  });
});

describe("a mistake is reported with the file and the remedy", () => {
  test.each([
    ["{", /servers\.json: this is not JSON \(.*\): correct it/],
    ["[]", /servers\.json: it is not an object of names and servers: write it like/],
    [{}, /has no server "x", it is empty: name one of these, or add it/],
    [{ y: { addresses: "a:1" }, z: { addresses: "a:1" } }, /has no server "x", it has y, z/],
    [{ x: { addresses: "a" } }, /addresses: "a" has no port/],
  ])("%j", async (content, what) => {
    expect(await ran(["ls", "--server", "x"], content)).toMatchObject({
      code: 64,
      err: expect.stringMatching(what),
    });
  });

  test("if there is no file", async () => {
    const { err } = await ranInProcess(["ls", "--server", "x"]);
    expect(err).toContain(`${HOME_FILE}: there is no such file: write it, like {`);
  });

  test("together with all others", async () => {
    const content = { x: { adresses: "a:1", tls: "yes", ca: 7 }, y: 3, z: { addresses: [] } };
    const { code, err } = await ran(["ls", "--server", "x"], content);
    expect(code).toBe(64);
    expect(err.match(/^ {2}- .*$/gm)).toEqual([
      expect.stringMatching(/"x": it has no addresses: add them/),
      expect.stringMatching(/"x": "adresses" is not a field: use addresses, tls/),
      expect.stringMatching(/"x": tls is "yes": write true or false/),
      expect.stringMatching(/"x": ca is 7: write the path of a file/),
      expect.stringMatching(/"y" is not an object/),
      expect.stringMatching(/"z": addresses is \[\]: write host:port, or a list of them/),
    ]);
  });
});
