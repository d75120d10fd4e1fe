// The tokens that open /metrics: one a line, so that a new one can be in force before the old one is withdrawn.

import type { Checked, ReadFile } from "./reloaded-files.ts";
import type { SettingValues } from "./settings.ts";
import { reasonOf } from "./sources.ts";

/** Shorter ones can be guessed. */
const TOKEN_CHARS_MIN = 16;
/** What may follow `Bearer` in a header. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

/** The file as a server reads it, at the start and again; null: there is none. */
export function metricsTokenFile({ metricsTokenFile: path = null }: Partial<SettingValues>) {
  if (path === null) return null;
  return {
    what: "metrics_token",
    paths: [path],
    load(readFile: ReadFile): Checked<readonly string[]> {
      let text: string;
      try {
        text = readFile(path);
      } catch (error) {
        const advice = "name a file that this user may read";
        return { faults: [`ROWLOCK_METRICS_TOKEN_FILE is "${path}" (${reasonOf(error)}): ${advice}.`] };
      }
      const tokens = text.split("\n").map((line) => line.trim());
      const written = tokens.filter((token) => token !== "");
      if (written.length === 0)
        return { faults: ["ROWLOCK_METRICS_TOKEN_FILE is empty: write a token into it."] };
      // Never quotes a line: it may be a token with a slip.
      const faults = tokens.flatMap((token, index) =>
        token === "" || (TOKEN.test(token) && token.length >= TOKEN_CHARS_MIN)
          ? []
          : [
              `Line ${index + 1} of ROWLOCK_METRICS_TOKEN_FILE is not a token: write ${TOKEN_CHARS_MIN} or more ` +
                "letters, digits and ._~+/-, for example from `openssl rand -hex 32`.",
            ],
      );
      return faults.length > 0 ? { faults } : { value: written };
    },
  };
}
