// A fetch-style handler, as Hono, Next.js, Bun and Deno call them, that runs for one request at a time. Here the program
// calls it itself, twice at once:
//
//   ROWLOCK_ADDR=127.0.0.1:50051 node fetch.ts

import { connect } from "@rowlock/client";
import { locked } from "@rowlock/client/fetch";

await using rowlock = connect({ addresses: process.env.ROWLOCK_ADDR ?? "127.0.0.1:50051" });

const POST = locked(
  rowlock,
  ({ url }) => `load${new URL(url).pathname}`,
  { wait: 0 },
  async (_, lock) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return new Response(`loaded, with fencing token ${lock.token}`);
  },
);

const request = () => new Request("http://localhost/orders", { method: "POST" });
for (const response of await Promise.all([POST(request()), POST(request())]))
  console.log(response.status, (await response.text()).trim());
