// A file that holds the password of the database user, which may change while the server runs. No message quotes the
// file.

import { Refusal } from "./setting-kinds.ts";
import { readSecret } from "./sources.ts";

export class PasswordFile {
  readonly #path: string;
  readonly #readFile: (path: string) => string;
  #current: string;

  /** Reads the file; a Refusal says why there is no password in it, in a sentence. */
  static open(path: string, readFile: (path: string) => string): PasswordFile | Refusal {
    const password = read(path, readFile);
    return password instanceof Refusal ? password : new PasswordFile(path, readFile, password);
  }

  private constructor(path: string, readFile: (path: string) => string, password: string) {
    this.#path = path;
    this.#readFile = readFile;
    this.#current = password;
  }

  /** The password as last read. It is kept until a login is refused, because the file may change before the database. */
  get current(): string {
    return this.#current;
  }

  /** Reads the file again, and returns what it holds now. A Refusal changes nothing. */
  renew(): string | Refusal {
    const password = read(this.#path, this.#readFile);
    if (!(password instanceof Refusal)) this.#current = password;
    return password;
  }
}

function read(path: string, readFile: (path: string) => string): string | Refusal {
  return readSecret("ROWLOCK_DATABASE_PASSWORD_FILE", path, "the password", readFile);
}
