// A plugin of buf that writes openapi.json: the verbs of the contract as they are called over HTTP, with the comments of the proto
// files. The schemas are those of Protobuf's JSON (https://protobuf.dev/programming-guides/json/). `npm run generate` runs it.

import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from "@bufbuild/protobuf";
import { createEcmaScriptPlugin, getComments, runNodeJs } from "@bufbuild/protoplugin";
import { EXAMPLES } from "./openapi-examples.ts";

type Json = { readonly [key: string]: unknown };

const FILE = "openapi.json";
const BY_NUMBER = new Map<ScalarType, Json>([
  [ScalarType.BOOL, { type: "boolean" }],
  [ScalarType.STRING, { type: "string" }],
  [ScalarType.BYTES, { type: "string", contentEncoding: "base64" }],
  [ScalarType.DOUBLE, { type: "number" }],
  [ScalarType.FLOAT, { type: "number" }],
  [ScalarType.INT32, { type: "integer" }],
  [ScalarType.SINT32, { type: "integer" }],
  [ScalarType.UINT32, { type: "integer", minimum: 0 }],
]);
/** Beyond what numbers in JSON keep exactly. */
const OF_64_BITS: Json = { type: "string", pattern: "^-?[0-9]+$" };
const KNOWN = new Map<string, Json>([
  ["google.protobuf.Duration", { type: "string", pattern: "^-?[0-9]+(\\.[0-9]{1,9})?s$", examples: ["30s"] }],
  ["google.protobuf.Timestamp", { type: "string", format: "date-time" }],
  ["google.protobuf.Empty", { type: "object" }],
]);

const ERROR: Json = {
  type: "object",
  description: "Why a call failed, as the Connect protocol writes it.",
  properties: {
    code: { type: "string", description: "The code of gRPC in lower case, such as invalid_argument." },
    message: { type: "string", description: "For people. Not stable." },
    details: {
      type: "array",
      items: {
        type: "object",
        properties: {
          type: { type: "string", description: "Such as google.rpc.ErrorInfo, which has the reason." },
          value: { type: "string", contentEncoding: "base64" },
          debug: { description: "The content of the detail as JSON." },
        },
        required: ["type", "value"],
      },
    },
  },
  required: ["code"],
};

class Schemas {
  readonly #found = new Map<string, Json>();

  /** In order of their names. */
  get all(): Json {
    return Object.fromEntries([...this.#found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** What refers to the message, which has its schema from now on. */
  of(message: DescMessage | DescEnum): Json {
    const known = KNOWN.get(message.typeName);
    if (known) return known;
    const name = nameOf(message);
    if (!this.#found.has(name)) {
      this.#found.set(name, {});
      this.#found.set(name, message.kind === "enum" ? enumSchema(message) : this.#message(message));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  #message(message: DescMessage): Json {
    const properties = message.fields.map((field) => [
      field.jsonName,
      { ...this.#field(field), ...described(textOf(field)) },
    ]);
    const oneofs = message.oneofs.map(({ fields }) => {
      const names = fields.map(({ jsonName }) => jsonName);
      return `At most one of ${names.join(", ")}.`;
    });
    const text = [textOf(message), ...oneofs].filter((each) => each !== "").join("\n\n");
    return { type: "object", ...described(text), properties: Object.fromEntries(properties) };
  }

  #field(field: DescField): Json {
    const { scalar, enum: values, message } = field;
    const one =
      scalar === undefined ? this.of((values ?? message) as DescEnum | DescMessage) : ofScalar(scalar);
    if (field.fieldKind === "list") return { type: "array", items: one };
    return field.fieldKind === "map" ? { type: "object", additionalProperties: one } : one;
  }
}

function ofScalar(type: ScalarType): Json {
  return BY_NUMBER.get(type) ?? OF_64_BITS;
}

function enumSchema(found: DescEnum): Json {
  const values = found.values.map(
    (value) => `- ${value.name}: ${textOf(value).replaceAll("\n", " ") || "not set."}`,
  );
  return {
    type: "string",
    enum: found.values.map(({ name }) => name),
    ...described([textOf(found), values.join("\n")].join("\n\n")),
  };
}

/** Without its package; a message within another one has the names of both. */
function nameOf({ typeName, file }: DescMessage | DescEnum): string {
  return typeName.slice(file.proto.package.length + 1).replaceAll(".", "_");
}

/** The comment above it, whose lines are broken only where a paragraph or a list begins. */
function textOf(found: Parameters<typeof getComments>[0]): string {
  const lines = (getComments(found).leading ?? "")
    .split("\n")
    .map((line) => line.replace(/^ /, "").trimEnd());
  return lines
    .join("\n")
    .replaceAll(/(?<=\S)\n(?=[^\s\-|])/g, " ")
    .trim();
}

function described(description: string): Json {
  return description === "" ? {} : { description };
}

function operation(method: DescMethod, schemas: Schemas): Json {
  const text = textOf(method);
  const [summary = ""] = text.split(/(?<=\.)\s/);
  const answer = schemas.of(method.output);
  const isStream = method.methodKind === "server_streaming";
  const content = isStream
    ? { "text/event-stream": { schema: answer } }
    : { "application/json": { schema: answer } };
  return {
    operationId: method.localName,
    summary: summary.replace(/\.$/, ""),
    ...described(text),
    requestBody: {
      required: true,
      content: { "application/json": { schema: schemas.of(method.input), example: EXAMPLES[method.name] } },
    },
    responses: {
      "200": {
        description: isStream
          ? "Events, of which each has one message; the event `end` has the error with which the stream ends."
          : "The answer. A refusal is one, too.",
        content,
      },
      default: {
        description: "The call failed.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

function documentOf(service: DescService): Json {
  const schemas = new Schemas();
  const called = service.methods.filter(({ methodKind }) => /^(unary|server_streaming)$/.test(methodKind));
  const paths = called.map((method) => [
    `/${service.typeName}/${method.name}`,
    { post: operation(method, schemas) },
  ]);
  return {
    openapi: "3.1.1",
    info: {
      title: "Rowlock",
      version: "v1",
      description: `${textOf(service)}\n\nOver HTTP by the Connect protocol: docs/http.md. A field that the server does not know is refused.`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{}, { token: [] }],
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { ...schemas.all, Error: ERROR },
    },
  };
}

runNodeJs(
  createEcmaScriptPlugin({
    name: "protoc-gen-openapi",
    version: "v1",
    generateTs(schema) {
      const service = schema.files
        .flatMap(({ services }) => services)
        .find(({ name }) => name === "LockService");
      if (!service) throw new Error("There is no LockService.");
      schema.generateFile(FILE).print(JSON.stringify(documentOf(service), null, 2));
    },
  }),
);
