// Attacks by messages against a real server: as large as it takes, larger, and such as never become complete.

import { type ClientHttp2Session, connect } from "node:http2";
import { afterEach, describe, expect, test } from "vitest";
import { startServer } from "../support/harness.ts";
import { callHeaders, grpcMessage } from "../support/http2-frames.ts";
import { attackStage, isLinux } from "./stage.ts";

const MIB_MAX = 450;
const BYTES_MAX = 65_536;

const stage = attackStage();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe.skipIf(!isLinux)(`clients are served in ${MIB_MAX} MiB beside`, () => {
  test.each([
    ["messages at the limit", []],
    ["messages above the limit", []],
    ["messages that inflate", []],
    // 180 MB of them, of which the server keeps 64 MiB at most.
    ["messages without an end", [/reset 0/]],
    ["messages in parts of a byte", [/reset 0/]],
    ["calls without a message", [/reset 0/]],
  ])("%s", async (name, sees) => {
    const { peakMib } = await stage.attack(name, { sees });
    expect(peakMib).toBeLessThanOrEqual(MIB_MAX);
  });
});

interface Answer {
  readonly status: unknown;
  readonly message: string;
}

/** Begins a call and sends these bytes, and never the end of them. Resolves when the server has ended the call. */
function answerTo(session: ClientHttp2Session, bytes: Uint8Array): Promise<Answer> {
  const stream = session.request(Object.fromEntries(callHeaders("/rowlock.v1.LockService/GetLock")));
  stream.on("error", () => {});
  stream.write(bytes);
  stream.resume();
  return new Promise((resolve) => {
    let answer: Answer | undefined;
    stream.once("response", (headers) => {
      answer = { status: headers["grpc-status"], message: decodeURI(String(headers["grpc-message"])) };
    });
    stream.once("close", () => resolve(answer ?? { status: undefined, message: "no answer" }));
  });
}

test("a request that is too large, or late, is answered with the reason, and its stream is closed", async () => {
  const server = await startServer();
  cleanups.push(() => server.stop());
  const session = connect(`http://${server.address}`);
  cleanups.push(() => session.destroy());
  const large = grpcMessage(Buffer.alloc(0), { length: BYTES_MAX + 1 });
  const late = grpcMessage(Buffer.alloc(10), { length: BYTES_MAX });
  const answers = await Promise.all([answerTo(session, large), answerTo(session, late)]);
  expect(answers).toMatchObject([
    { status: "8", message: expect.stringContaining(`larger than the ${BYTES_MAX} bytes`) },
    { status: "4", message: expect.stringContaining("did not arrive within 10000 ms") },
  ]);
});
