// How a client shows who it is to a server that asks: what is wrong with a token or a certificate is said, and no secret is.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { certificateAuthority, signedCertificate } from "../../process/certificate.ts";
import { knownCallers } from "../../support/known-callers.ts";
import { afterwards, client, start } from "./stage.ts";

describe("a call", () => {
  test.each([
    ["CREDENTIALS_MISSING", {}],
    ["CREDENTIALS_WRONG", { token: "unknown-secret" }],
    ["CREDENTIALS_WRONG", { token: () => "unknown-secret" }],
    ["CREDENTIALS_MISSING", { token: { file: "/no/such/file" } }],
    ["CREDENTIALS_MISSING", { token: () => "unknown-secret\n\nunknown-secret" }],
  ])("fails at once as %s with %j, and the error does not show the token", async (reason, options) => {
    const { address } = await start({ grpc: { gate: knownCallers(["known"], null).access } });
    const rowlock = client(address, { giveUpAfter: Number.POSITIVE_INFINITY, ...options });
    const error = await rowlock.lock("job").catch((error: unknown) => error);
    expect(error).toMatchObject({ reason, code: "UNAUTHENTICATED" });
    expect(inspect([error, rowlock], { depth: 9, showHidden: true })).not.toContain("secret");
  });
});

describe("a certificate in files", () => {
  async function secured() {
    const folder = mkdtempSync(join(tmpdir(), "rowlock-credentials-"));
    afterwards(() => rmSync(folder, { recursive: true }));
    const write = (name: string, content: string) => {
      writeFileSync(join(folder, name), content);
      return join(folder, name);
    };
    const authority = certificateAuthority();
    const own = signedCertificate(authority, "localhost");
    const tls = { certificate: own.cert, key: own.key, clientCa: authority.cert };
    const server = await start({ grpc: { tls } });
    const good = signedCertificate(authority, "client");
    const files = (cert: string, key: string) => ({
      ca: { file: write("ca", `\ufeff${authority.cert}`) },
      cert: { file: write("cert", cert) },
      key: { file: write("key", key) },
    });
    return { address: server.address.replace("127.0.0.1", "localhost"), write, good, files, authority };
  }

  test("may begin with a byte order mark, as some editors write it", async () => {
    const { address, good, files } = await secured();
    const { ca, cert, key } = files(`\ufeff${good.cert}`, `\ufeff${good.key}`);
    expect((await client(address, { tls: { ca, cert, key } }).lock("job")).token).toBe(1n);
  });

  test("that does not fit its key, or is not there, fails calls with what is wrong, until it does", async () => {
    const { address, write, good, files, authority } = await secured();
    const other = signedCertificate(authority, "client");
    const rowlock = client(address, { tls: files(good.cert, other.key) });
    await expect(rowlock.lock("job")).rejects.toMatchObject({
      reason: "CREDENTIALS_MISSING",
      message: expect.stringMatching(/^The certificate, key or authority of tls cannot be used: /),
    });
    write("key", good.key);
    expect((await rowlock.lock("job")).token).toBe(1n);
    const gone = client(address, { tls: { ...files(good.cert, good.key), cert: { file: "/no/such/file" } } });
    await expect(gone.lock("job")).rejects.toMatchObject({
      message: "The file /no/such/file of tls cannot be read (ENOENT).",
    });
  });
});
