// The generated code for the usual messages, beside protobuf-es: it reads the same messages, writes the same bytes, and
// leaves whatever it gives up to protobuf-es, with its results and its errors. ROWLOCK_TEST_SEED repeats a run,
// ROWLOCK_TEST_RUNS makes it longer.

import type { DescField, DescMessage, DescOneof, MessageInitShape } from "@bufbuild/protobuf";
import { create, fromBinary, ScalarType, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LeaseSchema } from "#proto/rowlock/v1/lock_pb.js";
import { AcquireRequestSchema, SessionRequestSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import { CallError } from "../../../server/grpc/messages/call-error.ts";
import { READERS, WRITERS } from "../../../server/grpc/messages/hot-codec.ts";
import { decode, encode, encodeInto } from "../../../server/grpc/messages/messages.ts";
import { Reader, Writer } from "../../../server/grpc/messages/wire.ts";
import { seed } from "../../support/seed.ts";

const options = { seed, numRuns: Number(process.env.ROWLOCK_TEST_RUNS ?? 100) };
/** How far messages within messages are made. */
const DEPTH = 5;

type Init = MessageInitShape<DescMessage>;
type Values = Partial<Record<ScalarType, fc.Arbitrary<unknown>>>;

const nameLike = fc.string({ unit: "grapheme-ascii", maxLength: 140 });
const text = fc.oneof(
  { weight: 3, arbitrary: nameLike },
  fc.string({ unit: "binary", maxLength: 60 }).map((some) => some.replaceAll("\ufffd", "")),
  fc.constantFrom("\ufeffa", "a".repeat(127), "a".repeat(128), "é".repeat(64), "a".repeat(20_000)),
);
const small = fc.nat({ max: 300 });
const uint32 = fc.oneof(small, fc.constantFrom(127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1));
const int32 = fc.oneof(small, fc.constantFrom(127, 128, 999_999_999, 2 ** 31 - 1));
const instants = fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, 2n ** 49n - 1n), fc.constant(1_790_000_000n));

/** Values that the generated code reads and writes by itself. */
const USUAL: Values = {
  [ScalarType.STRING]: text,
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.INT32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.INT64]: instants,
  [ScalarType.UINT64]: instants,
};
/** The others, as far as they can be written. */
const ANY: Values = {
  ...USUAL,
  [ScalarType.STRING]: fc.oneof(text, fc.constantFrom("\ufffd", "\ud800", "a\udfffb")),
  [ScalarType.INT32]: fc.oneof(int32, fc.constantFrom(-1, -(2 ** 31))),
  [ScalarType.INT64]: fc.oneof(instants, fc.constantFrom(-1n, -(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n)),
  [ScalarType.UINT64]: fc.oneof(instants, fc.constantFrom(2n ** 49n, 2n ** 53n + 1n, 2n ** 64n - 1n)),
};
/** Values that nothing can write. */
const WRONG: Values = {
  ...ANY,
  [ScalarType.INT32]: fc.constantFrom(2 ** 31, 0.5, Number.NaN),
  [ScalarType.UINT32]: fc.constantFrom(-1, 2 ** 32, 0.5, Number.NaN),
  [ScalarType.INT64]: fc.constantFrom(2n ** 63n, -(2n ** 63n) - 1n),
  [ScalarType.UINT64]: fc.constantFrom(-1n, 2n ** 64n),
};

/** What makes messages of a type. `hot`: the only types of which the messages in it are; undefined: any. */
function messages(
  schema: DescMessage,
  values: Values,
  hot?: ReadonlyMap<DescMessage, unknown>,
  depth = DEPTH,
): fc.Arbitrary<Init> {
  const possible = (field: DescField) =>
    field.message ? depth > 0 && (hot?.has(field.message) ?? true) : scalarOf(field) in values;
  const record: Record<string, fc.Arbitrary<unknown>> = {};
  for (const member of schema.members) {
    const fields = member.kind === "oneof" ? member.fields : [member];
    const usable = fields.filter(possible);
    if (usable.length > 0) record[member.localName] = ofMember(member, usable);
  }
  return fc.record(record, { requiredKeys: [] }) as fc.Arbitrary<Init>;

  function ofMember(member: DescField | DescOneof, usable: readonly DescField[]): fc.Arbitrary<unknown> {
    if (member.kind === "field") return ofField(member);
    const cases = usable.map((field) =>
      fc.record({ case: fc.constant(field.localName), value: ofOne(field) }),
    );
    return fc.oneof(fc.constant({ case: undefined }), ...cases);
  }

  function ofField(field: DescField): fc.Arbitrary<unknown> {
    if (field.fieldKind === "list") return fc.array(ofOne(field), { maxLength: 3 });
    const keys = fc.oneof(nameLike, fc.constantFrom("", "1", "__proto"));
    if (field.fieldKind === "map") return fc.dictionary(keys, ofOne(field), { maxKeys: 3 });
    return ofOne(field);
  }

  function ofOne(field: DescField): fc.Arbitrary<unknown> {
    if (field.message) return messages(field.message, values, hot, depth - 1);
    if (field.enum) return fc.oneof(fc.nat({ max: 4 }), values[ScalarType.INT32] as fc.Arbitrary<unknown>);
    return values[scalarOf(field)] as fc.Arbitrary<unknown>;
  }
}

function scalarOf(field: DescField): ScalarType {
  return field.scalar ?? ScalarType.INT32;
}

/** As protobuf-es encodes it. */
function bytesOf(schema: DescMessage, init: Init): Buffer {
  return Buffer.from(toBinary(schema, create(schema, init)));
}

/** What the generated code alone reads; undefined: it gives up. */
function readAlone(schema: DescMessage, bytes: Buffer): unknown {
  const reader = new Reader(bytes);
  const message = READERS.get(schema)?.(reader, bytes.length);
  return reader.at === bytes.length ? message : undefined;
}

/** What the generated code alone writes; undefined: it gives up. */
function writtenAlone(schema: DescMessage, init: Init): Buffer | undefined {
  const writer = new Writer(1);
  WRITERS.get(schema)?.(writer, init);
  return writer.keep(0) ? writer.finish() : undefined;
}

const FAILED = "failed";

function outcome(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return FAILED;
  }
}

function expectSameAsProtobufEs(schema: DescMessage, bytes: Buffer): void {
  const expected = outcome(() => fromBinary(schema, bytes, { readUnknownFields: false }));
  if (expected === FAILED) expect(() => decode(schema, bytes)).toThrow(CallError);
  else expect(decode(schema, bytes)).toStrictEqual(expected);
}

/** One change of bytes. */
const damage = fc.record({
  kind: fc.constantFrom("set", "insert", "remove", "cut", "double"),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1, 10, 18, 0x7f, 0x80, 0xff)),
});

type Damage = typeof damage extends fc.Arbitrary<infer One> ? One : never;

function damaged(bytes: Buffer, { kind, at, byte }: Damage): Buffer {
  const from = Math.min(Math.floor(at * bytes.length), Math.max(0, bytes.length - 1));
  const [before, after] = [bytes.subarray(0, from), bytes.subarray(from)];
  if (kind === "cut") return before;
  if (kind === "double") return Buffer.concat([bytes, after]);
  const kept = kind === "insert" ? after : after.subarray(1);
  return Buffer.concat([before, Buffer.from(kind === "remove" ? [] : [byte]), kept]);
}

/** Holds for all of these values. */
function holds<Values extends [unknown, ...unknown[]]>(
  ...given: [
    ...arbitraries: { [At in keyof Values]: fc.Arbitrary<Values[At]> },
    check: (...values: Values) => void,
  ]
): void {
  fc.assert(fc.property(...(given as Parameters<typeof fc.property<Values>>)), options);
}

describe.each([...READERS.keys()].map((schema) => [schema.name, schema] as const))(
  "%s is read",
  (_, schema) => {
    test("as protobuf-es reads it, by the generated code alone if it is usual", () => {
      holds(messages(schema, USUAL, READERS), (init) => {
        const bytes = bytesOf(schema, init);
        expect(readAlone(schema, bytes)).toStrictEqual(fromBinary(schema, bytes));
      });
    });

    test("as protobuf-es reads it, whatever it contains, and from bytes of any kind", () => {
      holds(messages(schema, ANY), (init) => expectSameAsProtobufEs(schema, bytesOf(schema, init)));
      holds(fc.uint8Array({ maxLength: 24 }), (bytes) => expectSameAsProtobufEs(schema, Buffer.from(bytes)));
    });

    test("as protobuf-es reads it, however its bytes are damaged", () => {
      const damages = fc.array(damage, { minLength: 1, maxLength: 3 });
      holds(messages(schema, USUAL), damages, (init, list) =>
        expectSameAsProtobufEs(schema, list.reduce(damaged, bytesOf(schema, init))),
      );
    });

    test("as protobuf-es merges it, if it comes twice", () => {
      const any = messages(schema, USUAL, READERS);
      holds(any, any, (one, other) =>
        expectSameAsProtobufEs(schema, Buffer.concat([bytesOf(schema, one), bytesOf(schema, other)])),
      );
    });
  },
);

describe.each([...WRITERS.keys()].map((schema) => [schema.name, schema] as const))(
  "%s is written",
  (_, schema) => {
    test("as protobuf-es writes it, by the generated code alone if it is usual", () => {
      holds(messages(schema, USUAL, WRITERS), (init) => {
        expect(writtenAlone(schema, init)).toEqual(bytesOf(schema, init));
        expect(writtenAlone(schema, create(schema, init))).toEqual(bytesOf(schema, init));
      });
    });

    test("as protobuf-es writes it, whatever it contains, or not at all if protobuf-es refuses it", () => {
      holds(messages(schema, ANY), (init) => {
        expect(encode(schema, init)).toEqual(bytesOf(schema, init));
      });
      holds(messages(schema, WRONG), (init) => {
        expect(outcome(() => encode(schema, init))).toEqual(outcome(() => bytesOf(schema, init)));
      });
    });
  },
);

const AS_IT_IS = [...WRITERS.keys()].map((schema) =>
  messages(schema, ANY).map((init) => ({ schema, init, bytes: bytesOf(schema, init) })),
);

test("answers that follow each other into one buffer, and those that were given out before, keep their bytes", () => {
  holds(fc.array(fc.oneof(...AS_IT_IS), { maxLength: 12 }), (answers) => {
    const writer = new Writer(1);
    const alone = answers.map(({ schema, init }) => encode(schema, init));
    for (const { schema, init } of answers) encodeInto(writer, schema, init);
    expect(alone).toEqual(answers.map(({ bytes }) => bytes));
    expect(writer.finish()).toEqual(Buffer.concat(answers.map(({ bytes }) => bytes)));
  });
});

const TEN_BYTES = Array<number>(9).fill(0x80);
const UNUSUAL: readonly (readonly [what: string, bytes: readonly number[]])[] = [
  ["an unknown field", [0x0a, 1, 0x61, 0xa2, 0x06, 1, 0x62]],
  ["a group", [0x0a, 1, 0x61, 0x9b, 0x06, 0x08, 1, 0x9c, 0x06]],
  ["a field of another wire type", [0x08, 0]],
  ["field 0", [0x02, 0]],
  ["a tag that is longer than it must be", [0x8a, 0x00, 1, 0x61]],
  ["terms that come in two parts", [0x22, 3, 0x1a, 1, 0x61, 0x22, 3, 0x42, 1, 0x62]],
  ["a oneof that is set twice", [0x32, 0, 0x3a, 0]],
  ["a wait that comes in two parts", [0x32, 0, 0x32, 4, 0x0a, 2, 0x08, 1]],
  ["a negative number", [0x10, ...TEN_BYTES.map(() => 0xff), 1]],
  ["a number of 11 bytes", [0x18, ...TEN_BYTES, 0x80, 1]],
  ["a number of more than 32 bits", [0x18, 0xff, 0xff, 0xff, 0xff, 0x7f]],
  ["a span of 2^63 - 1 seconds", [0x32, 12, 0x0a, 10, 0x08, ...TEN_BYTES.slice(1).map(() => 0xff), 0x7f]],
  ["text that is not UTF-8", [0x0a, 2, 0xc0, 0x80]],
  ["half of a character", [0x0a, 3, 0xed, 0xa0, 0x80]],
  ["U+FFFD", [0x0a, 3, 0xef, 0xbf, 0xbd]],
  ["text beyond its message", [0x22, 3, 0x1a, 5, 0x61, 0x62, 0x63, 0x64, 0x65]],
  ["text beyond the end", [0x0a, 5, 0x61]],
  ["a length beyond all messages", [0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]],
  ["a length beyond 32 bits", [0x0a, 0x81, 0x80, 0x80, 0x80, 0x10, 0x61]],
  ["nothing after a tag", [0x0a]],
  ["nothing after half of a number", [0x18, 0x80]],
  [
    "a label that is named like a prototype",
    [0x22, 16, 0x22, 14, 0x0a, 9, ...Buffer.from("__proto__"), 0x12, 1, 0x61],
  ],
  ["a label with a number", [0x22, 7, 0x22, 5, 0x0a, 1, 0x61, 0x18, 1]],
  ["a label with a third text", [0x22, 8, 0x22, 6, 0x0a, 1, 0x61, 0x1a, 1, 0x62]],
];

test.each(UNUSUAL)("%s is left to protobuf-es", (_, list) => {
  const bytes = Buffer.from(list);
  expect(readAlone(AcquireRequestSchema, bytes)).toBeUndefined();
  expectSameAsProtobufEs(AcquireRequestSchema, bytes);
  // The same within commands, before another one.
  const command = Buffer.concat([Buffer.from([0x52, bytes.length]), bytes]);
  const request = Buffer.concat([
    Buffer.from([0x12, command.length]),
    command,
    Buffer.from([0x12, 0, 0x18, 1]),
  ]);
  expect(readAlone(SessionRequestSchema, request)).toBeUndefined();
  expectSameAsProtobufEs(SessionRequestSchema, request);
});

/** The fields of a message that hold one hot message each, or belong to a oneof. */
const parts = [...READERS.keys()].flatMap((schema) =>
  schema.fields
    .filter(
      ({ fieldKind, oneof, message }) =>
        (fieldKind === "message" || oneof) && (!message || READERS.has(message)),
    )
    .map((field) => ({ schema, field })),
);
/** A part without content: a message of length 0, or the number 0. */
const empty = ({ number, message }: DescField) => [(number << 3) | (message ? 2 : 0), 0];

test.each(parts)("$field that comes twice is left to protobuf-es", ({ schema, field }) => {
  const bytes = Buffer.from([...empty(field), ...empty(field)]);
  expect(readAlone(schema, Buffer.from(empty(field)))).toBeDefined();
  expect(readAlone(schema, bytes)).toBeUndefined();
  expectSameAsProtobufEs(schema, bytes);
});

describe("at the edges", () => {
  test.each([
    0n,
    127n,
    128n,
    ...[31n, 32n, 49n, 53n, 63n, 64n].flatMap((bits) => [2n ** bits - 1n, 2n ** (bits - 1n)]),
  ])("the token %d is written alone", (fencingToken) => {
    expect(writtenAlone(LeaseSchema, { fencingToken })).toEqual(bytesOf(LeaseSchema, { fencingToken }));
  });

  test.each<Init>([
    { fencingToken: -1n },
    { fencingToken: 2n ** 64n },
    { permits: -1 },
    { permits: 2 ** 32 },
    { permits: 0.5 },
    { permits: Number.NaN },
    { mode: 2 ** 31 },
    { ttl: { seconds: 2n ** 63n } },
  ])("%o is refused, as protobuf-es refuses it", (lease) => {
    expect(writtenAlone(LeaseSchema, lease)).toBeUndefined();
    expect(() => encode(LeaseSchema, lease)).toThrow();
  });

  test("a part of any length has the shortest length that says so", () => {
    for (const length of [...Array(300).keys(), 16_383, 16_384, 16_385]) {
      const writer = new Writer(1);
      const from = writer.open(10);
      writer.raw(Buffer.alloc(length, 7));
      writer.close(from);
      const expected = new BinaryWriter().uint32(10).bytes(Buffer.alloc(length, 7)).finish();
      expect(writer.finish()).toEqual(Buffer.from(expected));
    }
  });

  test("a writer that has given up once goes on", () => {
    const writer = new Writer(1);
    writer.text(10, "kept");
    const { length } = writer;
    writer.text(10, "thrown away");
    writer.int32(16, -1);
    expect(writer.keep(length)).toBe(false);
    writer.text(10, "kept, too");
    expect(writer.keep(length)).toBe(true);
    expect(String(writer.finish())).toBe("\n\u0004kept\n\u0009kept, too");
  });
});
