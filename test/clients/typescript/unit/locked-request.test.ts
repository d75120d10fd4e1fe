// Which locks the middleware asks for, for a request that names them.

import { expect, test, vi } from "vitest";
import { locked } from "../../../../clients/typescript/src/fetch.ts";
import type { RowlockClient, WantedLock } from "../../../../clients/typescript/src/index.ts";

const paths = ({ url }: Request) => new URL(url).pathname.slice(1).split("/");

test.each<[readonly WantedLock[] | ((request: Request) => readonly WantedLock[]) | undefined, object]>([
  [undefined, {}],
  [["book"], { also: ["book"] }],
  [(request) => [{ name: paths(request)[1] as string, permits: 2 }], { also: [{ name: "to", permits: 2 }] }],
])("further locks are those of the options, or found in the request: %s", async (also, asked) => {
  const withLock = vi.fn(async (..._: unknown[]) => new Response());
  const rowlock = { withLock } as unknown as RowlockClient;
  const options = { wait: 0, ...(also && { also }) };
  const handler = locked(
    rowlock,
    (request) => paths(request)[0] as string,
    options,
    async () => new Response(),
  );
  await handler(new Request("http://here/from/to"));
  const [name, { signal: _, ...others }] = withLock.mock.calls[0] as unknown as [
    string,
    { signal: AbortSignal },
  ];
  expect([name, others]).toEqual(["from", { wait: 0, ...asked }]);
});
