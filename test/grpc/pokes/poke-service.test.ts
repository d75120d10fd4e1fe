// Who may poke this server, how much one poke may ask for, and what the server answers when asked for a decision.

import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { ReplicaService } from "#proto/rowlock/internal/v1/replica_service_pb.js";
import { encode } from "../../../server/grpc/messages/messages.ts";
import { pokeServiceHandlers } from "../../../server/grpc/pokes/poke-service.ts";

const SECRET = "abcdefghijklmnopqrstuv";

type Handler = (
  call: { request: Buffer },
  callback: (error: { code: status; details: string } | null, answer?: Buffer) => void,
) => void;

function poked(request: Buffer) {
  const read: bigint[] = [];
  const counted: [string, number][] = [];
  const { Poke } = pokeServiceHandlers(
    {
      secret: SECRET,
      onPoke: (claims) => read.push(...claims.map(({ ticketNumber }) => ticketNumber)),
      decides: async () => true,
    },
    { poke: (what, claims) => void counted.push([what, claims]) },
  );
  const answers: { code: status; hasAnswer: boolean }[] = [];
  (Poke as unknown as Handler)({ request }, (error, answer) =>
    answers.push({ code: error?.code ?? status.OK, hasAnswer: answer !== undefined }),
  );
  return { read, counted, answers };
}

const { input } = ReplicaService.method.poke;
const poke = (secret: string, count: number) =>
  encode(input, {
    secret,
    claims: Array.from({ length: count }, (_, index) => ({ lockId: 1n, ticketNumber: BigInt(index + 1) })),
  });

test("a sender with the secret makes it read the claims, and gets an answer", () => {
  const { read, counted, answers } = poked(poke(SECRET, 3));
  expect(read).toEqual([1n, 2n, 3n]);
  expect(counted).toEqual([["received", 3]]);
  expect(answers).toEqual([{ code: status.OK, hasAnswer: true }]);
});

test.each(["", "x", `${SECRET}x`, SECRET.toUpperCase()])(
  "a sender with %o instead of it is refused",
  (secret) => {
    const { read, counted, answers } = poked(poke(secret, 3));
    expect(read).toEqual([]);
    expect(counted).toEqual([]);
    expect(answers).toEqual([{ code: status.PERMISSION_DENIED, hasAnswer: false }]);
  },
);

test("bytes that are no poke are refused", () => {
  const { read, answers } = poked(Buffer.from([255, 255]));
  expect(read).toEqual([]);
  expect(answers).toEqual([{ code: status.INVALID_ARGUMENT, hasAnswer: false }]);
});

describe("on request it answers", () => {
  /** The status code, and how many decisions were made. */
  async function asked(request: Buffer, does = true): Promise<[status, number]> {
    let decisions = 0;
    const decides = async () => {
      decisions += 1;
      return does;
    };
    const { Decide } = pokeServiceHandlers({ secret: SECRET, onPoke() {}, decides }, { poke() {} });
    const code = await new Promise<status>((resolve) =>
      (Decide as unknown as Handler)({ request }, (error) => resolve(error?.code ?? status.OK)),
    );
    return [code, decisions];
  }
  const question = (secret: string) => encode(ReplicaService.method.decide.input, { secret });

  test("whether a decision succeeds", async () => {
    expect(await asked(question(SECRET))).toEqual([status.OK, 1]);
    expect(await asked(question(SECRET), false)).toEqual([status.UNAVAILABLE, 1]);
  });

  test("unless the sender does not know the secret", async () => {
    expect(await asked(question("x"))).toEqual([status.PERMISSION_DENIED, 0]);
    expect(await asked(Buffer.from([255, 255]))).toEqual([status.INVALID_ARGUMENT, 0]);
  });
});
