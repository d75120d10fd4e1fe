// What makes a server of a scenario ask who calls: a file of tokens, or a key that signs JWTs. The runner has a token
// of its own at each such server.

import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { BareCalls, RowlockError } from "../../../clients/typescript/src/bare/index.ts";
import { PATIENCE_MS } from "./driver-process.ts";

/** Tokens by the name of the principal whom they stand for. */
export type Tokens = Readonly<Record<string, readonly string[]>>;

const POLL_EVERY_MS = 25;
const ISSUER = "https://issuer.example";
const AUDIENCE = "rowlock";
const KEY_ID = "key-1";

export class Credentials {
  /** The token of the runner, which each server of the scenario accepts. */
  readonly looker = `looker-${randomUUID()}`;
  readonly #folder: string;
  readonly #signing: KeyObject | undefined;
  #tokens: Tokens;

  private constructor(folder: string, tokens: Tokens, signing: KeyObject | undefined) {
    this.#folder = folder;
    this.#tokens = tokens;
    this.#signing = signing;
  }

  /** Writes the files. With `jwt`, the server accepts JWTs besides tokens. */
  static async make(tokens: Tokens, jwt: boolean): Promise<Credentials> {
    const folder = await mkdtemp(join(tmpdir(), "rowlock-credentials-"));
    const pair = jwt ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : undefined;
    const made = new Credentials(folder, tokens, pair?.privateKey);
    await made.#writeTokens();
    if (pair) {
      const key = { ...pair.publicKey.export({ format: "jwk" }), kid: KEY_ID, alg: "ES256", use: "sig" };
      await writeFile(made.#keysFile, JSON.stringify({ keys: [key] }));
    }
    return made;
  }

  /** The settings of a server that accepts them. */
  get env(): Readonly<Record<string, string>> {
    return {
      ROWLOCK_TOKENS_FILE: this.#tokensFile,
      ...(this.#signing && {
        ROWLOCK_JWT_ISSUER: ISSUER,
        ROWLOCK_JWT_AUDIENCE: AUDIENCE,
        ROWLOCK_JWT_KEYS: this.#keysFile,
        // The tokens expire within a test.
        ROWLOCK_JWT_CLOCK_SKEW: "0s",
      }),
    };
  }

  /** Replaces the tokens, and waits until the server at `address` decides by the new ones. */
  async replace(tokens: Tokens, address: string): Promise<void> {
    const [before, after] = [this.#tokens, tokens].map((each) => Object.values(each).flat());
    this.#tokens = tokens;
    await this.#writeTokens();
    for (const token of new Set([...(before ?? []), ...(after ?? [])]))
      await becomes(address, token, after?.includes(token) === true);
  }

  /** Signs a JWT that expires after `lastsMs`, or up to a second later: JWTs count in seconds. */
  jwt(subject: string, lastsMs: number): string {
    if (!this.#signing) throw new Error("This server has no `jwt: true`.");
    const iat = Math.floor(Date.now() / 1_000);
    const exp = Math.ceil((Date.now() + lastsMs) / 1_000);
    const claims = { iss: ISSUER, aud: AUDIENCE, sub: subject, jti: randomUUID(), iat, exp };
    const text = [{ alg: "ES256", typ: "JWT", kid: KEY_ID }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    const signature = sign("sha256", Buffer.from(text), { key: this.#signing, dsaEncoding: "ieee-p1363" });
    return `${text}.${signature.toString("base64url")}`;
  }

  remove(): Promise<void> {
    return rm(this.#folder, { recursive: true, force: true });
  }

  get #tokensFile(): string {
    return join(this.#folder, "tokens");
  }

  get #keysFile(): string {
    return join(this.#folder, "keys.json");
  }

  /** Replaces the file in one step, as a server may read it at any time. */
  async #writeTokens(): Promise<void> {
    const all = Object.entries({ ...this.#tokens, looker: [this.looker] });
    const lines = all.flatMap(([name, tokens]) => tokens.map((token) => `${name} sha256:${sha256(token)}\n`));
    await writeFile(`${this.#tokensFile}.new`, lines.join(""));
    await rename(`${this.#tokensFile}.new`, this.#tokensFile);
  }
}

function sha256(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

async function becomes(address: string, token: string, isKnown: boolean): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  while ((await knows(address, token)) !== isKnown) {
    if (performance.now() > untilMs)
      throw new Error(
        `After ${PATIENCE_MS} ms the server still ${isKnown ? "refuses" : "accepts"} ${token}.`,
      );
    await sleep(POLL_EVERY_MS);
  }
}

async function knows(address: string, token: string): Promise<boolean> {
  using calls = new BareCalls(address, { headers: { authorization: `Bearer ${token}` } });
  try {
    await calls.call("getLock", { name: "any" }, { timeout: PATIENCE_MS });
    return true;
  } catch (error) {
    if (error instanceof RowlockError && error.code === "UNAUTHENTICATED") return false;
    throw error;
  }
}
