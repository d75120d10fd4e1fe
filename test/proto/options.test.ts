// Names in generated code of other languages: both files of the package have the same options, and no file's outer
// class has the name of a message.

import { describe, expect, test } from "vitest";
import { file_rowlock_v1_lock } from "#proto/rowlock/v1/lock_pb.js";
import { file_rowlock_v1_lock_service } from "#proto/rowlock/v1/lock_service_pb.js";

describe.each([
  [file_rowlock_v1_lock, "LockProto"],
  [file_rowlock_v1_lock_service, "LockServiceProto"],
] as const)("file %#", (file, javaOuterClassname) => {
  test("names its package in every language that does not take the name from the package", () => {
    expect(file.proto.options).toMatchObject({
      csharpNamespace: "Rowlock.V1",
      goPackage: "github.com/rowlock/rowlock/clients/go/rowlockv1;rowlockv1",
      javaMultipleFiles: true,
      javaOuterClassname,
      javaPackage: "rowlock.v1",
      objcClassPrefix: "RLK",
      phpMetadataNamespace: "Rowlock\\V1\\GPBMetadata",
      phpNamespace: "Rowlock\\V1",
      rubyPackage: "Rowlock::V1",
    });
  });
});
