// A collector for tests: takes spans by OTLP, over HTTP or gRPC, and decodes what tests look at.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { type SeenSpan, SpanTree } from "../support/span-tree.ts";
import { until } from "../support/until.ts";

type Attributes = Record<string, unknown>;

export interface Received extends SeenSpan {
  /** What the span says of its server. */
  readonly resource: Readonly<Attributes>;
  /** The headers, or the metadata, with which it came. */
  readonly headers: Readonly<Record<string, unknown>>;
}

export class OtlpReceiver {
  readonly #received: readonly Received[];
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  readonly close: () => void;

  /** The requests with metrics, as they came. */
  readonly metrics: readonly Buffer[];

  private constructor(port: number, close: () => void, received: Received[], metrics: Buffer[] = []) {
    this.metrics = metrics;
    this.endpoint = `http://127.0.0.1:${port}`;
    this.close = close;
    this.#received = received;
  }

  static async overHttp(): Promise<OtlpReceiver> {
    const received: Received[] = [];
    const metrics: Buffer[] = [];
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (request.url === "/v1/traces") received.push(...spansIn(Buffer.concat(chunks), request.headers));
      if (request.url === "/v1/metrics") metrics.push(Buffer.concat(chunks));
      response.writeHead(/^\/v1\/(traces|metrics)$/.test(request.url ?? "") ? 200 : 404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const close = () => {
      server.close();
      server.closeAllConnections();
    };
    return new OtlpReceiver((server.address() as AddressInfo).port, close, received, metrics);
  }

  static async overGrpc(): Promise<OtlpReceiver> {
    const received: Received[] = [];
    const server = new Server();
    const asItIs = (bytes: Buffer) => bytes;
    const [requestSerialize, requestDeserialize] = [asItIs, asItIs];
    const [responseSerialize, responseDeserialize] = [asItIs, asItIs];
    const path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    const coded = { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize };
    server.addService(
      { Export: { path, requestStream: false, responseStream: false, ...coded } },
      {
        Export(
          call: { request: Buffer; metadata: { getMap(): object } },
          answer: (error: null, bytes: Buffer) => void,
        ) {
          received.push(...spansIn(call.request, { ...call.metadata.getMap() }));
          answer(null, Buffer.alloc(0));
        },
      },
    );
    const port = await promisify(server.bindAsync.bind(server))(
      "127.0.0.1:0",
      ServerCredentials.createInsecure(),
    );
    return new OtlpReceiver(port, () => server.forceShutdown(), received);
  }

  /** The spans of a trace, as soon as there are spans of all these names. */
  async of(traceId: string, ...names: readonly string[]): Promise<SpanTree<Received>> {
    const found = () => this.#received.filter((span) => span.traceId === traceId);
    await until(() => names.every((name) => found().some((span) => span.name === name)));
    return new SpanTree(found());
  }
}

type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>;

/** The fields of a message by their numbers, as they stand on the wire. */
function fieldsOf(message: Uint8Array): Fields {
  const reader = new BinaryReader(message);
  const fields = new Map<number, (Uint8Array | bigint)[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
    else if (type === WireType.Varint) values.push(BigInt(reader.int64()));
    else reader.skip(type);
  }
  return fields;
}

const messagesIn = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Uint8Array));
const bytesIn = (fields: Fields, number: number) =>
  Buffer.from((fields.get(number)?.[0] ?? "") as Uint8Array);
const numberIn = (fields: Fields, number: number) => (fields.get(number)?.[0] ?? 0n) as bigint;

function spansIn(request: Uint8Array, headers: Received["headers"]): Received[] {
  return messagesIn(fieldsOf(request), 1).flatMap((resourceSpans) => {
    const [resource] = messagesIn(resourceSpans, 1).map((fields) => attributesIn(fields, 1));
    const spans = messagesIn(resourceSpans, 2).flatMap((scopeSpans) => messagesIn(scopeSpans, 2));
    return spans.map((span) => ({ ...seenSpan(span), resource: resource ?? {}, headers }));
  });
}

function seenSpan(span: Fields): SeenSpan {
  const [status] = messagesIn(span, 15);
  return {
    traceId: bytesIn(span, 1).toString("hex"),
    spanId: bytesIn(span, 2).toString("hex"),
    tracestate: bytesIn(span, 3).toString(),
    parentId: bytesIn(span, 4).toString("hex"),
    name: bytesIn(span, 5).toString(),
    startNs: numberIn(span, 7),
    endNs: numberIn(span, 8),
    attributes: attributesIn(span, 9),
    links: messagesIn(span, 13).map((link) => bytesIn(link, 2).toString("hex")),
    error: status?.has(2) ? bytesIn(status, 2).toString() : undefined,
  };
}

/** Key and value of each; a value is a text or an integer. */
function attributesIn(fields: Fields, number: number): Attributes {
  const entries = messagesIn(fields, number).map((pair) => {
    const [value] = messagesIn(pair, 2);
    return [
      bytesIn(pair, 1).toString(),
      value?.has(1) ? bytesIn(value, 1).toString() : Number(value?.get(3)?.[0]),
    ];
  });
  return Object.fromEntries(entries);
}
