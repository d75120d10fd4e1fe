// The password of the database user in a file, as editors write it.

import { expect, test } from "vitest";
import { PasswordFile } from "../../server/config/database-login.ts";
import { textOf } from "../../server/config/text-file.ts";

const passwordIn = (bytes: Buffer) => {
  const opened = PasswordFile.open("password", () => textOf(bytes));
  return opened instanceof PasswordFile ? opened.current : opened.message;
};

test("a byte order mark before a password is skipped, and that of UTF-16 is refused", () => {
  expect(passwordIn(Buffer.from("\ufeffs3cret\r\n"))).toBe("s3cret");
  expect(passwordIn(Buffer.from("\ufeffs3cret", "utf16le"))).toContain("not valid UTF-8: save it as UTF-8");
});
