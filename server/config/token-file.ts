// The tokens that open /metrics: one a line, so that a new one can be in force before the old one is withdrawn.

import type { Read, Watched } from "./reloaded-files.ts";
import type { Checked } from "./settings.ts";
import { reasonOf } from "./sources.ts";

/** Shorter ones can be guessed. */
const TOKEN_CHARS_MIN = 16;
/** What may follow `Bearer` in a header. */
const TOKEN = /^[A-Za-z0-9._~+/-]+=*$/;

export function metricsTokenFile({ metricsTokenFile: path }: Checked): Watched<readonly string[]> | null {
  if (!path) return null;
  return {
    what: "metrics_token",
    paths: [path],
    load(readFile) {
      try {
        return tokensIn(readFile(path));
      } catch (error) {
        const advice = "name a file that this user may read";
        return { faults: [`ROWLOCK_METRICS_TOKEN_FILE is "${path}" (${reasonOf(error)}): ${advice}.`] };
      }
    },
  };
}

function tokensIn(text: string): Read<readonly string[]> {
  const lines = text.split("\n").map((line) => line.trim());
  const tokens = lines.filter((line) => line !== "");
  if (tokens.length === 0) return { faults: ["ROWLOCK_METRICS_TOKEN_FILE is empty: write a token into it."] };
  // Never quotes a line: it may be a token with a slip.
  const faults = lines.flatMap((line, index) =>
    line === "" || (TOKEN.test(line) && line.length >= TOKEN_CHARS_MIN)
      ? []
      : `Line ${index + 1} of ROWLOCK_METRICS_TOKEN_FILE is not a token: write ${TOKEN_CHARS_MIN} or more ` +
        "letters, digits and ._~+/-, for example from `openssl rand -hex 32`.",
  );
  return faults.length > 0 ? { faults } : { value: tokens };
}
