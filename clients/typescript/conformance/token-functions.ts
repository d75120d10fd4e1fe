// The functions that return the tokens of clients: what they return changes with the command `setToken`.

export class TokenFunctions {
  readonly #tokens = new Map<string, string>();

  /** Returns a function for the client's option, which returns this token until `set` is called. */
  functionOf(client: string, token: string): () => Promise<string> {
    this.#tokens.set(client, token);
    return async () => this.#tokens.get(client) as string;
  }

  set(client: string, token: string): void {
    this.#tokens.set(client, token);
  }
}
