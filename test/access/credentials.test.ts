// How tokens, JWTs and certificates become callers, and what is said of those that do not.

import { inspect } from "node:util";
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { Access, type AccessOptions, type Credentials, type Identity } from "../../server/access/access.ts";
import { AccessError } from "../../server/access/access-error.ts";
import type { JwtRules } from "../../server/access/jwt.ts";
import { FileKeys, readKeys, UrlKeys } from "../../server/access/key-sets.ts";
import { Policy } from "../../server/access/policy.ts";
import { newToken, readTokens } from "../../server/access/tokens-file.ts";
import { certificateAuthority, signedCertificate } from "../process/certificate.ts";

const bearer = (token: string): Credentials => ({
  authorization: [`Bearer ${token}`],
  certificate: () => null,
});

/** The reason of the error with which it is refused; the principal if it is not. */
async function outcome(access: Access, credentials: Credentials): Promise<string> {
  try {
    return (await access.identify(credentials)).principal;
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    return error.reason;
  }
}

function tokensIn(text: string) {
  const read = readTokens(text);
  if ("faults" in read) throw new Error(read.faults.join("\n"));
  return read.value;
}

describe("a tokens file", () => {
  test("knows each token by its hash, and not by its name", async () => {
    const [first, second] = [newToken("nightly"), newToken("nightly")];
    const access = new Access({ tokens: tokensIn(`# comment\n\n${first.line}\n  ${second.line}\r\n`) });
    expect(await outcome(access, bearer(first.token))).toBe("token:nightly");
    expect(await outcome(access, bearer(second.token))).toBe("token:nightly");
    const hash = first.line.split(":")[1] as string;
    for (const wrong of [hash, "nightly", `${first.token}x`, first.token.slice(1)])
      expect(await outcome(access, bearer(wrong))).toBe("CREDENTIALS_WRONG");
  });

  test("with faults is told of all of them, without their text: it could be a token", () => {
    const { token, line } = newToken("a");
    const read = readTokens(
      `${line}\n${token}\nb ${token}\n* ${line.split(" ")[1]}\n${line}\n${"x".repeat(300)} ${line.split(" ")[1]}`,
    );
    if (!("faults" in read)) throw new Error("It has no faults.");
    const lines = read.faults.map((fault) => fault.split(/[ :]/, 2).join(" "));
    expect(lines).toEqual([2, 3, 4, 5, 6].map((number) => `line ${number}`));
    expect(read.faults.join()).not.toContain(token);
  });

  test("without tokens is refused, as it may have been cut short, unless a comment shows that this is meant", () => {
    for (const text of ["", "\n \r\n"])
      expect(readTokens(text)).toEqual({ faults: [expect.stringContaining("it is empty")] });
    expect(tokensIn("\n# nobody yet\n").size).toBe(0);
  });

  test("that loses a token ends who came with it, and only these", async () => {
    const [gone, kept] = [newToken("gone"), newToken("kept")];
    const access = new Access({ tokens: tokensIn(`${gone.line}\n${kept.line}`) });
    const [before, other] = await Promise.all(
      [gone, kept].map(({ token }) => access.identify(bearer(token))),
    );
    access.replaceTokens(tokensIn(kept.line));
    expect(before?.ended(Date.now())?.reason).toBe("CREDENTIALS_WRONG");
    expect(other?.ended(Date.now())).toBeNull();
    expect(await outcome(access, bearer(gone.token))).toBe("CREDENTIALS_WRONG");
  });
});

test.each([
  [[], "CREDENTIALS_MISSING"],
  [["Basic abc"], "CREDENTIALS_WRONG"],
  [["Bearer "], "CREDENTIALS_WRONG"],
  [["Bearer a b"], "CREDENTIALS_WRONG"],
  [["Bearer a", "Bearer a"], "CREDENTIALS_WRONG"],
  [[`Bearer ${"a".repeat(20_000)}`], "CREDENTIALS_WRONG"],
])("the headers %o are %s", async (authorization, reason) => {
  const access = new Access({ tokens: new Map() });
  expect(await outcome(access, { authorization, certificate: () => null })).toBe(reason);
});

describe("a JWT", () => {
  const RULES: JwtRules = {
    issuer: "https://issuer.example",
    audience: "rowlock",
    nameClaim: "sub",
    algorithms: ["ES256"],
    clockSkewMs: 10_000,
  };
  const publicOf = async ({ publicKey }: GenerateKeyPairResult, kid: string | undefined) => ({
    ...(await exportJWK(publicKey)),
    ...(kid !== undefined && { kid }),
    alg: "ES256",
  });
  let own: GenerateKeyPairResult;
  let foreign: GenerateKeyPairResult;
  const keys = new FileKeys();

  beforeAll(async () => {
    own = await generateKeyPair("ES256", { extractable: true });
    foreign = await generateKeyPair("ES256");
    keys.replace({ keys: [await publicOf(own, "one")] });
  });

  const inS = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
  /** Node leaves what is undefined out of the JWT. */
  const claims = (more: object = {}): JWTPayload => ({
    iss: RULES.issuer,
    aud: "rowlock",
    sub: "system:serviceaccount:etl:loader",
    exp: inS(60),
    ...more,
  });
  const signed = (payload: JWTPayload, { kid = "one", key = own } = {}) =>
    new SignJWT(payload).setProtectedHeader({ alg: "ES256", kid }).sign(key.privateKey);
  const access = (more: Partial<AccessOptions> = {}) => new Access({ jwt: { rules: RULES, keys }, ...more });

  /** As the API server of Kubernetes signs them for a projected volume. */
  test("of a service account of Kubernetes is known by its subject", async () => {
    const own = { namespace: "etl", serviceaccount: { name: "loader", uid: "u" } };
    const times = { iat: inS(-10), nbf: inS(-10) };
    const token = await signed(claims({ aud: ["rowlock"], ...times, jti: "0b1c", "kubernetes.io": own }));
    expect(await outcome(access(), bearer(token))).toBe("jwt:system:serviceaccount:etl:loader");
  });

  /** As an OIDC provider signs them for a person. */
  test("of an OIDC provider may be known by another claim", async () => {
    const token = await signed(claims({ email: "ann@example.org", email_verified: true, azp: "rowlock" }));
    const byEmail = access({ jwt: { rules: { ...RULES, nameClaim: "email" }, keys } });
    expect(await outcome(byEmail, bearer(token))).toBe("jwt:ann@example.org");
  });

  test.each<[string, () => Promise<string>, string]>([
    ["of another issuer", () => signed(claims({ iss: "https://other.example" })), "CREDENTIALS_WRONG"],
    ["for another audience", () => signed(claims({ aud: "kafka" })), "CREDENTIALS_WRONG"],
    ["signed with another key", () => signed(claims(), { key: foreign }), "CREDENTIALS_WRONG"],
    ["that names an unknown key", () => signed(claims(), { kid: "two" }), "CREDENTIALS_WRONG"],
    ["without an end", () => signed(claims({ exp: undefined })), "CREDENTIALS_WRONG"],
    ["that counts only later", () => signed(claims({ nbf: inS(60) })), "CREDENTIALS_WRONG"],
    ["without a name", () => signed(claims({ sub: undefined })), "CREDENTIALS_WRONG"],
    ["whose name is too long", () => signed(claims({ sub: "x".repeat(300) })), "CREDENTIALS_WRONG"],
    ["that has expired", () => signed(claims({ exp: inS(-20) })), "CREDENTIALS_EXPIRED"],
    [
      "that has expired within the skew of clocks",
      () => signed(claims({ exp: inS(-5) })),
      "jwt:system:serviceaccount:etl:loader",
    ],
    [
      "without a signature",
      async () =>
        `${Buffer.from('{"alg":"none"}').toString("base64url")}.${(await signed(claims())).split(".")[1]}.`,
      "CREDENTIALS_WRONG",
    ],
    [
      "signed with the public key as a secret",
      async () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: "HS256", kid: "one" })
          .sign(Buffer.from(JSON.stringify(await exportJWK(own.publicKey)))),
      "CREDENTIALS_WRONG",
    ],
  ])("%s is told so", async (_what, make, expected) => {
    expect(await outcome(access(), bearer(await make()))).toBe(expected);
  });

  test("ends when it expires, and when its key is not in force any more", async () => {
    const identity = (await access().identify(bearer(await signed(claims())))) as Identity;
    expect(identity.ended(Date.now())).toBeNull();
    expect(identity.ended(Date.now() + 71_000)?.reason).toBe("CREDENTIALS_EXPIRED");
    const before = keys.current();
    keys.replace({ keys: [await publicOf(foreign, "two")] });
    expect(identity.ended(Date.now())?.reason).toBe("CREDENTIALS_WRONG");
    if (before) keys.replace(before);
  });

  test.each([["one"], [undefined]])(
    "ends when its key is withdrawn, and another one has the id %o",
    async (kid) => {
      const before = keys.current();
      keys.replace({ keys: [await publicOf(own, kid)] });
      const header = { alg: "ES256", ...(kid !== undefined && { kid }) };
      const token = await new SignJWT(claims()).setProtectedHeader(header).sign(own.privateKey);
      const gate = access();
      const identity = (await gate.identify(bearer(token))) as Identity;
      // The same key again, read anew, under another id, and beside keys that nobody here can use.
      keys.replace({ keys: [{ kty: "PQ" }, await publicOf(own, "renamed")] });
      expect(identity.ended(Date.now())).toBeNull();
      keys.replace({ keys: [await publicOf(foreign, kid)] });
      expect(identity.ended(Date.now())?.reason).toBe("CREDENTIALS_WRONG");
      expect(await outcome(gate, bearer(token))).toBe("CREDENTIALS_WRONG");
      if (before) keys.replace(before);
    },
  );

  test("that cannot be checked yet may be tried again", async () => {
    const empty = access({ jwt: { rules: RULES, keys: new FileKeys() } });
    expect(await outcome(empty, bearer(await signed(claims())))).toBe("KEYS_UNAVAILABLE");
  });

  test("is in no error", async () => {
    const token = await signed(claims({ aud: "kafka" }));
    const error = await Promise.resolve(access().identify(bearer(token))).catch((thrown: unknown) => thrown);
    for (const part of token.split(".")) expect(inspect(error)).not.toContain(part);
  });

  describe("whose keys come from a URL", () => {
    test("is known when the issuer has changed its keys, and while the URL is away", async () => {
      let answer: () => Promise<string> = async () => JSON.stringify({ keys: [await publicOf(own, "one")] });
      const outcomes: (string | null)[] = [];
      const fetched = new UrlKeys({
        url: "https://issuer.example/keys",
        fetched: () => answer(),
        onOutcome: (why) => outcomes.push(why),
        againMs: 0,
      });
      await fetched.start();
      const byUrl = access({ jwt: { rules: RULES, keys: fetched } });
      const old = await signed(claims());
      const next = await signed(claims({ sub: "next" }), { kid: "two", key: foreign });
      expect(await outcome(byUrl, bearer(old))).toBe("jwt:system:serviceaccount:etl:loader");
      answer = async () => Promise.reject(new Error("it is away"));
      expect(await outcome(byUrl, bearer(next))).toBe("CREDENTIALS_WRONG");
      expect(await outcome(byUrl, bearer(await signed(claims({ sub: "new" }))))).toBe("jwt:new");
      answer = async () => JSON.stringify({ keys: [await publicOf(foreign, "two")] });
      expect(await outcome(byUrl, bearer(next))).toBe("jwt:next");
      expect(await outcome(byUrl, bearer(old))).toBe("CREDENTIALS_WRONG");
      expect(outcomes.slice(0, 3)).toEqual([null, "it is away", null]);
      fetched.stop();
    });

    test.each([
      ["not JSON", /not JSON/],
      ["{}", /no keys/],
      ['{"keys":[]}', /no keys/],
      ['{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}', /key 1 of the set is secret/],
    ])("says what is wrong with %o", (text, fault) => {
      const read = readKeys(text);
      expect("faults" in read && read.faults.join()).toMatch(fault);
      expect(inspect(read)).not.toContain("c2VjcmV0");
    });
  });
});

describe("a certificate", () => {
  const authority = certificateAuthority();
  const derOf = (pem: string) => Buffer.from(pem.replaceAll(/-----.*-----|\s/g, ""), "base64");
  const by = (pem: string): Credentials => ({ authorization: [], certificate: () => derOf(pem) });

  test("names its client in the chosen way", async () => {
    const { cert } = signedCertificate(authority, "loader");
    expect(await outcome(new Access({ certificates: "cn" }), by(cert))).toBe("cert:loader");
    expect(await outcome(new Access({ certificates: "dns" }), by(cert))).toBe("cert:localhost");
    expect(await outcome(new Access({ certificates: "spiffe" }), by(cert))).toBe("CREDENTIALS_WRONG");
  });

  test("with a SPIFFE id is known by it; with two, by none", async () => {
    const id = "spiffe://example.org/ns/etl/sa/loader";
    const access = new Access({ certificates: "spiffe" });
    const { cert } = signedCertificate(authority, "loader", { uris: [id] });
    expect(await outcome(access, by(cert))).toBe(`cert:${id}`);
    const { cert: two } = signedCertificate(authority, "loader", { uris: [id, "spiffe://example.org/x"] });
    expect(await outcome(access, by(two))).toBe("CREDENTIALS_WRONG");
  });

  test("cannot pass for another one by separators in its names", async () => {
    const access = new Access({ certificates: "spiffe" });
    const { cert } = signedCertificate(authority, "a", {
      uris: ["https://a/, URI:spiffe://example.org/admin"],
    });
    expect(await outcome(access, by(cert))).toBe("CREDENTIALS_WRONG");
    const { cert: named } = signedCertificate(authority, "a\nCN=admin");
    expect(await outcome(new Access({ certificates: "cn" }), by(named))).not.toBe("cert:admin");
  });

  test("counts until it expires", async () => {
    const { cert } = signedCertificate(authority, "loader", { untilMs: Date.now() + 60_000 });
    const identity = await new Access({ certificates: "cn" }).identify(by(cert));
    expect(identity.ended(Date.now())).toBeNull();
    expect(identity.ended(Date.now() + 61_000)?.reason).toBe("CREDENTIALS_EXPIRED");
  });

  test("is missing if the connection has none, and a token counts more", async () => {
    const { token, line } = newToken("a");
    const access = new Access({ certificates: "cn", tokens: tokensIn(line) });
    expect(await outcome(access, { authorization: [], certificate: () => null })).toBe("CREDENTIALS_MISSING");
    const { cert } = signedCertificate(authority, "loader");
    expect(await outcome(access, { ...bearer(token), certificate: () => derOf(cert) })).toBe("token:a");
  });
});

test("a policy that is replaced takes rights from those who had them, and from no others", async () => {
  const [less, same] = [newToken("less"), newToken("same")];
  const access = new Access({ tokens: tokensIn(`${less.line}\n${same.line}`), policy: new Policy([]) });
  const rule = (who: string, on: string) => ({
    who: [{ text: who, isPrefix: false }],
    may: new Set(["use"]),
    on: [{ text: on, isPrefix: true }],
    line: 1,
  });
  access.replacePolicy(
    new Policy([rule("token:less", "a"), rule("token:less", "b"), rule("token:same", "a")]),
  );
  const identities = await Promise.all([less, same].map(({ token }) => access.identify(bearer(token))));
  const lost: (string | undefined)[] = [];
  access.onLoss = (loss) => lost.push(...identities.map((identity) => loss(identity)?.reason));
  access.replacePolicy(
    new Policy([rule("token:less", "a"), rule("token:same", "a"), rule("token:same", "b")]),
  );
  expect(lost).toEqual(["RIGHT_MISSING", undefined]);
  expect(identities[0]?.allowed.on({ verb: "Acquire", right: "use" }, "b")).toBe(false);
});
