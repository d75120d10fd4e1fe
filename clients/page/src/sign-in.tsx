// Signing in with a token. It stays in this tab, and goes nowhere but to the server.

import { useEffect, useRef } from "preact/hooks";
import { token } from "./api.ts";
import { connection } from "./connection.ts";
import { Trouble } from "./parts.tsx";
import { useStore } from "./store.ts";

/** Instead of a view, when the server shows nothing without a token. */
export function SignIn() {
  const { refused, about } = useStore(connection);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? "";
    if (text === "") return;
    // The same token once more: perhaps the server knows it by now.
    if (token.value === text) token.set(null);
    token.set(text);
  };
  return (
    <section class="panel sign-in">
      <h1>Sign in</h1>
      {about?.mayNotSignIn ? (
        <p>{about.mayNotSignIn}</p>
      ) : (
        <form onSubmit={submit}>
          <p>
            This server shows locks to callers that it knows. Sign in with a token of its tokens file, or with
            a JWT.
          </p>
          <label>
            Token
            <input ref={field} type="password" name="token" autocomplete="off" spellcheck={false} required />
          </label>
          <p class="dim">It is kept in this tab until you sign out or close the tab.</p>
          <Trouble text={refused} />
          <div class="buttons">
            <button type="submit">Sign in</button>
          </div>
        </form>
      )}
    </section>
  );
}
