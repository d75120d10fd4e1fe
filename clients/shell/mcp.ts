// `rowlock mcp`: the locks as tools for an agent, by the Model Context Protocol over standard input and output.

import type { Declare } from "./command.ts";
import { AgentLocks, CALL_MS_MAX } from "./agent-locks.ts";
import { EXIT } from "./context.ts";
import { sentenceOf } from "./errors.ts";
import { paintOf } from "./print.ts";
import { explanationPage } from "./wait-causes.ts";

const HELP = `
Serves tools for an agent over standard input and output: acquire, release, mine, holders, why and list. An agent that acquires
holds the lock until it releases it, or until this process ends. A wait goes on between two calls, with its place kept.

Example, in the configuration of an agent:
  { "mcpServers": { "rowlock": { "command": "rowlock", "args": ["mcp", "--addr", "127.0.0.1:50051"] } } }
`;

const NAME = "the lock, such as repo/src or deploy/shop; a path may be a name";

export const mcp: Declare = (command, context) =>
  command.asks(HELP, () => async (rowlock) => {
    const [{ McpServer }, { StdioServerTransport }, { z }] = await Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
      import("zod"),
    ]);
    const locks = new AgentLocks(rowlock);
    const server = new McpServer({ name: "rowlock", version: context.version });
    const name = z.string().min(1).describe(NAME);
    const tool = <Shape extends Record<string, unknown>>(
      title: string,
      description: string,
      inputSchema: unknown,
      run: (asked: Shape) => Promise<string> | string,
    ) =>
      server.registerTool(title, { description, inputSchema: inputSchema as never }, (async (asked: Shape) => {
        try {
          return { content: [{ type: "text", text: await run(asked) }] };
        } catch (error) {
          return { isError: true, content: [{ type: "text", text: sentenceOf(error, {} as never) }] };
        }
      }) as never);

    tool(
      "acquire",
      "Take a lock before you change what it protects, so that no other agent or job does so at the same time. Waits for some seconds; if " +
        "that is not enough, the answer tells your place in the queue, which is kept: call it again to go on waiting.",
      z.object({
        name,
        mode: z
          .enum(["exclusive", "shared", "permit"])
          .optional()
          .describe("exclusive: alone; shared: beside other readers; permit (the default): one of as many as the limit allows"),
        permits: z.number().int().min(1).optional().describe("how many permits to take, 1 by default"),
        reason: z.string().max(200).optional().describe("what you will do, for whoever waits"),
        wait_seconds: z.number().min(0).max(CALL_MS_MAX / 1_000).optional().describe("how long to wait in this call, 20 by default"),
      }),
      ({ wait_seconds = 20, ...asked }: Parameters<AgentLocks["acquire"]>[0] & { wait_seconds?: number }) =>
        locks.acquire({ ...asked, waitMs: wait_seconds * 1_000 }),
    );
    tool("release", "Give a lock back, or your place in its queue.", z.object({ name }), ({ name: which }: { name: string }) =>
      locks.release(which),
    );
    tool("mine", "What you hold and wait for.", z.object({}), () => locks.mine());
    tool(
      "why",
      "Why a request for this lock would wait now: who holds it and since when, a limit, a pause; and about how long.",
      z.object({ name }),
      async ({ name: which }: { name: string }) =>
        explanationPage(await rowlock.explainWait({ name: which }), Date.now(), paintOf({ ...context, outIsTerminal: false } as never)),
    );
    tool(
      "list",
      "The locks under a prefix that somebody holds or waits for.",
      z.object({ prefix: z.string().describe('such as repo/; "" for all') }),
      async ({ prefix }: { prefix: string }) => {
        const lines: string[] = [];
        for await (const lock of rowlock.listLocks({ prefix, busyOnly: true })) {
          const owners = lock.holders.map(({ owner }) => owner).join(", ");
          lines.push(`- ${lock.name}: held by ${owners || "nobody"}, ${lock.waiterCount} waiting`);
          if (lines.length === 100) break;
        }
        return lines.join("\n") || "Nobody holds or waits for a lock there.";
      },
    );

    const transport = new StdioServerTransport();
    const closed = Promise.withResolvers<void>();
    server.server.onclose = () => closed.resolve();
    process.stdin.once("end", () => closed.resolve());
    await server.connect(transport);
    await closed.promise;
    await locks.end();
    return EXIT.ok;
  });
