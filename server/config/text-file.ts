// Turns the bytes of a file into text. What is not UTF-8 is refused and never repaired: a password with one other character
// is another password.

const UTF_8 = new TextDecoder("utf-8", { fatal: true });

/** Returns the text without a byte order mark, which editors put before it. Throws if it is not valid UTF-8. */
export function textOf(bytes: Uint8Array): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    throw new Error("it is not valid UTF-8: save it as UTF-8");
  }
}
