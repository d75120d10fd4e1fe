// The file of tokens: who has which token, as hashes. A token is 32 random bytes, so one round of SHA-256 is enough:
// nobody can guess it, whatever a guess costs.

import { createHash, randomBytes } from "node:crypto";
import { type PrincipalName, principalName } from "./principal.ts";

/** Principals by the hash of their tokens, in hexadecimal. */
export type Tokens = ReadonlyMap<string, PrincipalName>;

export type ReadTokens = { readonly value: Tokens } | { readonly faults: readonly string[] };

const TOKEN_BYTES = 32;
/** Shows what a leaked token is, to people and to scanners of secrets. */
const TOKEN_PREFIX = "rowlock_";
const LINE = /^(\S+)\s+sha256:([0-9a-f]{64})$/;

/**
 * Lines of `NAME sha256:HEX`; several may have the same name. Empty lines, and lines that begin with #, say nothing. A file
 * without tokens needs a line that begins with #: one that was cut short must not lock everybody out.
 */
export function readTokens(text: string): ReadTokens {
  const faults: string[] = [];
  const tokens = new Map<string, PrincipalName>();
  let hasComment = false;
  text.split("\n").forEach((line, index) => {
    const written = line.trim();
    hasComment ||= written.startsWith("#");
    if (written === "" || written.startsWith("#")) return;
    const [, name = "", hash = ""] = LINE.exec(written) ?? [];
    const principal = principalName("token", name);
    // The line is not quoted: it may contain a token by mistake.
    if (hash === "")
      faults.push(`line ${index + 1} is not "NAME sha256:HASH": make the line by \`rowlock token new NAME\``);
    else if (name.includes("*"))
      faults.push(`line ${index + 1}: the name has a star, which stands for many names`);
    else if (principal === null) faults.push(`line ${index + 1}: the name is too long`);
    else if (tokens.has(hash)) faults.push(`line ${index + 1}: another line has the same token`);
    else tokens.set(hash, principal);
  });
  if (tokens.size === 0 && faults.length === 0 && !hasComment)
    faults.push(
      "it is empty: make a line by `rowlock token new NAME`, or, so that no token is known, write a line that begins with #",
    );
  return faults.length > 0 ? { faults } : { value: tokens };
}

/** A new token, and its line for the file. `name`: without spaces. */
export function newToken(name: string): { readonly token: string; readonly line: string } {
  const token = TOKEN_PREFIX + randomBytes(TOKEN_BYTES).toString("base64url");
  return { token, line: `${name} sha256:${hashOf(token)}` };
}

export function hashOf(token: string | Buffer): string {
  return createHash("sha256").update(token).digest("hex");
}
