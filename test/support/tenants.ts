// A server of several tenants: a policy, a token for each of them, and their clients.

import { Access, type AccessOptions } from "../../server/access/access.ts";
import { readPolicy } from "../../server/access/policy-file.ts";
import { newToken, readTokens } from "../../server/access/tokens-file.ts";
import { type StartOptions, startServer, type TestServer } from "./harness.ts";
import { SessionClient } from "./session-client.ts";
import { TestCalls } from "./test-calls.ts";

export interface Tenants {
  readonly access: Access;
  /** As in a header. */
  bearer(name: string): string;
}

export interface TenantsServer extends TestServer, Tenants {
  /** A connection of the tenant's own, for single calls or, with SessionClient, for a session. */
  clientOf(name: string, Kind?: typeof TestCalls): TestCalls;
}

/** Tenants that are known by tokens: `token:NAME`. */
export function tenantsOf(
  policyText: string,
  names: readonly string[],
  options: AccessOptions = {},
): Tenants {
  const made = new Map(names.map((name) => [name, newToken(name)]));
  const tokens = readTokens([...made.values()].map(({ line }) => line).join("\n"));
  const policy = readPolicy(policyText);
  if ("faults" in tokens || "faults" in policy) throw new Error("The files of the test have faults.");
  const access = new Access({ tokens: tokens.value, policy: policy.value, ...options });
  return { access, bearer: (name) => `Bearer ${made.get(name)?.token}` };
}

export async function startTenantsServer(
  policyText: string,
  names: readonly string[],
  { grpc, ...options }: StartOptions = {},
): Promise<TenantsServer> {
  const { access, bearer } = tenantsOf(policyText, names);
  const server = await startServer({ ...options, grpc: { ...grpc, gate: access } });
  const clients: TestCalls[] = [];
  return {
    ...server,
    access,
    bearer,
    clientOf(name, Kind = TestCalls) {
      const client = new Kind(server.address, { headers: { authorization: bearer(name) } });
      clients.push(client);
      return client;
    },
    async stop() {
      for (const client of clients) client.close();
      await server.stop();
    },
  };
}

/** Single calls, and a session. */
export const CARRIERS = { call: TestCalls, session: SessionClient } as const;
