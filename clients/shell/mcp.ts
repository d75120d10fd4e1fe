// `rowlock mcp`: locks as tools for an agent, by the Model Context Protocol over standard input and output. Loaded alone: its packages
// take longer to load than any other command takes.

import { hostname } from "node:os";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { RowlockError } from "../typescript/src/index.ts";
import { listWords, whoWords } from "./agent-answers.ts";
import { AgentLocks, CALL_MS_MAX, type Wanted } from "./agent-locks.ts";
import type { Declare } from "./command.ts";
import { EXIT } from "./context.ts";
import { sentenceOf } from "./errors.ts";

const HELP = `
Serves tools for an agent over standard input and output: acquire, release, mine, who, why and list. An agent that has acquired a
lock holds it until it releases it, or until this process ends; a process that is killed loses it after its time to live (30 s). A
wait for a lock goes on between two calls, with its place kept.

Example, in the configuration of an agent:
  { "mcpServers": { "rowlock": { "command": "rowlock", "args": ["mcp", "--addr", "127.0.0.1:50051"] } } }
`;

const INSTRUCTIONS =
  "Locks that agents, jobs and people share. Before you change what others may change too, acquire its lock; work only while you " +
  "hold it; release it when you are done. The name of a lock is what all agree on, such as a path in the repository.";

const name = z
  .string()
  .min(1)
  .describe(
    "the lock, such as deploy/shop, or shop/src/api.ts for a path in the repository shop; all must write it alike",
  );
const SEEN = z.strictObject({
  name,
  path: z.boolean().optional().describe("the name is a path: look at the folders above it, too"),
});
const MODES = ["permit", "exclusive", "shared"] as const;
const WANTED = z.strictObject({
  name,
  path: z
    .boolean()
    .optional()
    .describe(
      "the name is a path: you get it alone (or beside readers, with the mode shared), and nobody can take a folder above it meanwhile",
    ),
  mode: z
    .enum(MODES)
    .optional()
    .describe(
      "permit (the default): one of as many as the lock's limit allows, usually 1; exclusive (the default for a path): alone; " +
        "shared: beside readers",
    ),
  permits: z.number().int().min(1).optional().describe("how many permits to take, 1 by default"),
  reason: z.string().max(200).optional().describe("what you are going to do, for those who wait"),
  wait_seconds: z
    .number()
    .min(0)
    .max(CALL_MS_MAX / 1_000)
    .default(20)
    .describe("how long this call waits; your place in the queue is kept after that"),
});

interface McpFlags {
  readonly owner?: string;
}

export const mcp: Declare = (command, context) =>
  command
    .option(
      "--owner <text>",
      "the holder's name, shown to people (default: the agent's program and this machine)",
    )
    .asks(HELP, ({ owner }: McpFlags) => async (rowlock, servers) => {
      const server = new McpServer(
        { name: "rowlock", version: context.version },
        { instructions: INSTRUCTIONS },
      );
      const ownerNow = () => owner ?? `${server.server.getClientVersion()?.name ?? "agent"} on ${hostname()}`;
      const locks = new AgentLocks({ rowlock, owner: ownerNow });
      const tool = <Schema extends z.ZodObject>(
        title: string,
        description: string,
        inputSchema: Schema,
        run: (asked: z.output<Schema>) => Promise<string> | string,
      ) =>
        server.registerTool(
          title,
          { description, inputSchema: inputSchema as z.ZodObject },
          async (asked) => {
            const text = (all: string) => [{ type: "text" as const, text: `${locks.news()}${all}` }];
            try {
              return { content: text(await run(asked as z.output<Schema>)) };
            } catch (error) {
              if (!(error instanceof RowlockError)) throw error;
              return { isError: true, content: text(await sentenceOf(error, servers)) };
            }
          },
        );

      tool(
        "acquire",
        "Take a lock before you change what it protects, so that no other agent or job does so at the same time. If it is busy, this " +
          "waits for some seconds, and then tells your place in the queue, which is kept: call it again to go on waiting. If you need " +
          "several, acquire them in the order of their names, or two agents may wait for each other. The fencing token rises with each " +
          "holder: pass it on where something asks for it.",
        WANTED,
        ({ path, wait_seconds, ...rest }) =>
          locks.acquire({ ...rest, isPath: path } satisfies Wanted, wait_seconds * 1_000),
      );
      tool("release", "Give a lock back, or your place in its queue.", z.strictObject({ name }), (asked) =>
        locks.release(asked.name),
      );
      tool("mine", "The locks that you hold and wait for.", z.strictObject({}), () => locks.mine());
      tool(
        "who",
        "Who holds a lock, since when and why, and who waits for it.",
        SEEN,
        ({ name: lock, path = false }) => whoWords(rowlock, lock, path),
      );
      tool(
        "why",
        "Why a request for a lock would wait now, and about how long: a holder, a limit, a rate, a pause.",
        SEEN,
        ({ name: lock, path = false }) => locks.why(lock, path),
      );
      tool(
        "list",
        "The locks under a prefix that somebody holds or waits for.",
        z.strictObject({ prefix: z.string().describe('such as shop/; "" for all') }),
        ({ prefix }) => listWords(rowlock, prefix),
      );

      const over = Promise.withResolvers<void>();
      server.server.onclose = () => over.resolve();
      await server.connect(new StdioServerTransport());
      // Clients end it by the end of its input, or by a signal.
      await Promise.race([over.promise, context.stopSignal]);
      await locks.end();
      await server.close();
      return EXIT.ok;
    });
