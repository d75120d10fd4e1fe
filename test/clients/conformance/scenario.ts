// Reads scenarios.yaml and checks it as a whole: an unknown word is an error, not a step that does nothing.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

const Server = z.strictObject({
  /** Flags for `rowlock serve`, besides the addresses and the database. */
  flags: z.array(z.string()).default([]),
  /** Serves TLS with its own certificate; `ca` holds the path of the authority's file. */
  tls: z.enum(["valid", "expired"]).optional(),
  /** Accepts only clients with the certificate in `clientCert` and `clientKey`. */
  clientCertificate: z.boolean().default(false),
  /** Asks who calls, and accepts these tokens: the tokens of each principal. */
  tokens: z.record(z.string(), z.array(z.string())).optional(),
  /** Asks who calls, and accepts JWTs of the verb `jwt`. */
  jwt: z.boolean().default(false),
});
export type ServerSpec = z.infer<typeof Server>;

const ProxyBefore = z.strictObject({
  /** The server behind the proxy. */
  to: z.string(),
  /** How it answers streaming calls; if unset, it forwards everything until a step controls it. */
  streams: z.enum(["UNIMPLEMENTED", "403", "405"]).optional(),
});
export type ProxySpec = z.infer<typeof ProxyBefore>;

const Client = z.looseObject({
  /** The process that runs the client; if unset, the one that most scenarios of this language share. */
  driver: z.string().optional(),
  /** Servers and proxies of the scenario, or addresses; if unset, its first server, or the shared one. */
  to: z.union([z.string(), z.array(z.string())]).optional(),
});
export type ClientSpec = z.infer<typeof Client>;

/** One verb with its argument and expectations; see steps.ts. */
const Step = z
  .looseObject({
    gives: z.unknown().optional(),
    becomes: z.unknown().optional(),
    fails: z.unknown().optional(),
    later: z.boolean().default(false),
    keep: z.record(z.string(), z.string()).default({}),
    times: z.number().default(1),
    took: z.unknown().optional(),
    by: z.unknown().optional(),
    as: z.string().optional(),
  })
  .transform(({ gives, becomes, fails, later, keep, times, took, by, as, ...verbs }, context) => {
    const [verb, ...more] = Object.keys(verbs);
    if (verb === undefined || more.length > 0)
      context.addIssue(`one verb is wanted, and not ${JSON.stringify(Object.keys(verbs))}`);
    return {
      verb: verb ?? "",
      about: verbs[verb ?? ""],
      gives,
      becomes,
      fails,
      later,
      keep,
      times,
      took,
      by,
      as,
    };
  });
export type Step = z.infer<typeof Step>;

const Scenario = z.strictObject({
  name: z.string(),
  /** What the scenario shows when it passes, for readers of the table. */
  shows: z.string(),
  /** Not run if only SQLite databases are available. */
  needs: z.literal("mysql").optional(),
  /** Languages to which it does not apply, and why. */
  except: z.record(z.string(), z.string()).default({}),
  servers: z.record(z.string(), Server).default({}),
  proxies: z.record(z.string(), ProxyBefore).default({}),
  clients: z.record(z.string(), Client).default({}),
  steps: z.array(Step).min(1),
});
export type Scenario = z.infer<typeof Scenario>;

const FILE = join(import.meta.dirname, "scenarios.yaml");

/** Throws if the file has unknown words or repeated names. */
export function readScenarios(text = readFileSync(FILE, "utf8")): Scenario[] {
  const scenarios = z.array(Scenario).parse(parse(text));
  const names = scenarios.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  if (twice.length > 0) throw new Error(`Two scenarios have the name: ${twice.join(", ")}`);
  return scenarios;
}

/** A scenario's name as a prefix for the names of its locks. */
export function slugOf({ name }: Scenario): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** Parses the steps of a table, with the same checks as all others. */
export function readSteps(steps: unknown): Step[] {
  return z.array(Step).parse(steps);
}
