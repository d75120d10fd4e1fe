// Finds secrets in what servers and tests print, by their forms, so that it needs no list of the secrets in use.

/** Each has a form that nothing else has. */
const FORMS: Readonly<Record<string, RegExp>> = {
  "a token": /\browlock_[\w-]{43}/,
  "a lease id or ticket id": /(?<![\w.-])[1-9a-z][0-9a-z]{0,12}\.[1-9a-z][0-9a-z]{0,12}\.[\w-]{22}(?![\w.-])/,
  "a JWT": /\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/,
  "a private key": /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  // What help and messages write for it instead is no password.
  "a password in a URL": /\/\/[^\s:@/]+:(?!password@|PASSWORD@|\*+@|\.+@)[^\s@/]+@/,
};

/** The kinds of secrets in a text; never the secrets themselves, since failures are printed, too. */
export function secretsIn(text: string): string[] {
  return Object.keys(FORMS).filter((kind) => FORMS[kind]?.test(text));
}

/** Throws if a server has printed a secret. */
export function refuseSecrets(printed: string, by: string): void {
  const found = secretsIn(printed);
  if (found.length > 0) throw new Error(`${by} has printed ${found.join(", ")}.`);
}
