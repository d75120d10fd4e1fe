// What lets clients in: the servers' certificate, tokens by which clients are known, and a policy. Servers read these files
// again when they change. Each client has its name as its principal.

import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { certificateAuthority, signedCertificate } from "../../../test/process/certificate.ts";

export class Papers {
  readonly #folder = mkdtempSync(join(tmpdir(), "rowlock-papers-"));
  readonly #authority = certificateAuthority();
  readonly #tokens: ReadonlyMap<string, string>;
  readonly #withoutRights = new Set<string>();
  #guests = 0;

  constructor(names: readonly string[]) {
    this.#tokens = new Map(names.map((name) => [name, `${name}-${randomUUID()}`]));
    writeFileSync(this.caFile, this.#authority.cert);
    const lines = [...this.#tokens].map(([name, token]) => `${name} sha256:${sha256(token)}\n`);
    this.#write("tokens", lines.join(""));
    this.exchangeCertificate();
    this.#writePolicy();
  }

  get caFile(): string {
    return this.#at("ca.crt");
  }

  /** For a server. */
  get env(): Readonly<Record<string, string>> {
    return {
      ROWLOCK_TLS_CERT: this.#at("server.crt"),
      ROWLOCK_TLS_KEY: this.#at("server.key"),
      ROWLOCK_TOKENS_FILE: this.#at("tokens"),
      ROWLOCK_POLICY_FILE: this.#at("policy.yaml"),
    };
  }

  tokenOf(name: string): string {
    return this.#tokens.get(name) as string;
  }

  /** Another one of the same authority, with another key. */
  exchangeCertificate(): void {
    const { cert, key } = signedCertificate(this.#authority, "servers of a run");
    this.#write("server.key", key);
    this.#write("server.crt", cert);
  }

  /** A rule for somebody who is not there. */
  addRule(): void {
    this.#guests += 1;
    this.#writePolicy();
  }

  takeRights(name: string): void {
    this.#withoutRights.add(name);
    this.#writePolicy();
  }

  giveRights(name: string): void {
    this.#withoutRights.delete(name);
    this.#writePolicy();
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #writePolicy(): void {
    const who = [...this.#tokens.keys()].filter((name) => !this.#withoutRights.has(name));
    const guests = Array.from({ length: this.#guests }, (_, guest) => `guest-${guest}`);
    const rules = [
      { who: who.map(principalOf), may: ["read", "use", "operate", "admin"], on: "*" },
      ...guests.map((guest) => ({ who: principalOf(guest), may: ["read"], on: `${guest}/*` })),
    ];
    // JSON is YAML.
    this.#write("policy.yaml", JSON.stringify({ rules }));
  }

  #at(name: string): string {
    return join(this.#folder, name);
  }

  /** Replaces a file in one step, as a server may read it at any time. */
  #write(name: string, text: string): void {
    writeFileSync(this.#at(`${name}.new`), text);
    renameSync(this.#at(`${name}.new`), this.#at(name));
  }
}

const principalOf = (name: string) => `token:${name}`;

function sha256(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
