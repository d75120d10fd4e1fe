// `rowlock serve --ephemeral`: what a program starts beside its own tests.

import { expect, test } from "vitest";
import { queued, TestCalls } from "../support/test-calls.ts";
import { RowlockProcess } from "./server-process.ts";
import { processStage } from "./stage.ts";

const stage = processStage();

function ephemeral({ input = "pipe" as "pipe" | "ignore", flags = [] as string[], env = {} } = {}) {
  const args = ["serve", "--ephemeral", ...flags];
  const process = new RowlockProcess(args, env, "server/main.ts", undefined, input);
  stage.afterwards(() => process.destroy());
  return process;
}

async function serving(options: Parameters<typeof ephemeral>[0] = {}) {
  const process = ephemeral(options);
  const [line] = await process.said(/^.*\n/);
  const { grpc, metrics } = JSON.parse(line) as { grpc: string; metrics: string };
  const client = new TestCalls(grpc);
  stage.afterwards(() => client.close());
  return { process, client, grpc, metrics };
}

test("two of them serve beside each other, in memory, and stop when their input ends", async () => {
  // The environment is that of real servers.
  const env = {
    ROWLOCK_DATABASE_URL: "mysql://nobody@127.0.0.1:1/prod",
    ROWLOCK_LISTEN: "127.0.0.1:1",
    ROWLOCK_TYPO: "1",
  };
  const [one, other] = await Promise.all([serving({ env }), serving({ env })]);
  for (const { client } of [one, other]) await client.lease({ name: "mine" });
  expect(await (await fetch(`${one.metrics}/metrics`)).text()).toMatch(/database="SQLite/);
  expect(one.grpc).toMatch(/^127\.0\.0\.1:\d+$/);

  for (const { process } of [one, other]) process.endInput();
  for (const { process, grpc, metrics } of [one, other])
    expect(await process.ended()).toEqual({
      code: 0,
      signal: null,
      out: `${JSON.stringify({ grpc, metrics })}\n`,
      err: "",
    });
});

test("it stops on SIGTERM, too, beside a client that waits", async () => {
  const { process, client } = await serving();
  await client.lease({ name: "mine" });
  const stream = client.wait(queued({ name: "mine" }));
  await stream.position();
  process.kill("SIGTERM");
  expect(await stream.failure()).toMatchObject({ code: "UNAVAILABLE" });
  expect(await process.ended()).toMatchObject({ code: 0, err: "" });
});

test("it does not outlive an input that is empty", async () => {
  expect(await ephemeral({ input: "ignore" }).ended()).toMatchObject({ code: 0, err: "" });
});

test("other flags apply, and those that it decides itself are refused", async () => {
  const { process } = await serving({ flags: ["--log-level", "info"] });
  await process.logged(/"msg":"serving"/);
  const refused = await ephemeral({
    flags: ["--listen", "127.0.0.1:50051", "--database-url", "sqlite:./x.db"],
  }).ended();
  expect(refused.code).not.toBe(0);
  expect(refused.out).toBe("");
  for (const flag of ["--listen", "--database-url"])
    expect(refused.err).toContain(
      `--ephemeral keeps everything in memory and takes free ports, so leave out ${flag}\n`,
    );
});
