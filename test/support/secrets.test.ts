import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { newToken } from "../../server/access/tokens-file.ts";
import { formatClaimId } from "../../server/core/claim.ts";
import { refuseSecrets, secretsIn } from "./secrets.ts";

const secret = randomBytes(16).toString("base64url");
const jwt = [{ alg: "ES256" }, { sub: "x" }, { signature: 1 }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .join(".");

test.each([
  ["a token", `authorization: Bearer ${newToken("nightly").token}`],
  ["a lease id or ticket id", `{"lease":"${formatClaimId({ lockId: 12n, ticketNumber: 345n, secret })}"}`],
  ["a JWT", `wrong token ${jwt}, try again`],
  ["a private key", "-----BEGIN EC PRIVATE KEY-----\nabc"],
  ["a password in a URL", "cannot reach mysql://root:hush@127.0.0.1:3306/rowlock"],
])("%s is found", (kind, text) => {
  expect(secretsIn(text)).toEqual([kind]);
  expect(() => refuseSecrets(text, "the server")).toThrow(`the server has printed ${kind}.`);
});

test.each([
  newToken("nightly").line,
  '{"level":"info","time":"2026-11-24T07:22:30.707Z","version":"0.1.0+906e637","grpc":"127.0.0.1:41579"}',
  "use mysql://user:password@host:port/database, or mysql://user:***@host/database",
  "mysql://rowlock@127.0.0.1:3306/rowlock",
  "server/core/claim.ts:12.34.ts",
])("%s has none", (text) => {
  expect(secretsIn(text)).toEqual([]);
  expect(() => refuseSecrets(text, "the server")).not.toThrow();
});
