package rowlock.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
 * first-come-first-served queues.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class LockServiceGrpc {

  private LockServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "rowlock.v1.LockService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<rowlock.v1.AcquireRequest,
      rowlock.v1.AcquireResponse> getAcquireMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Acquire",
      requestType = rowlock.v1.AcquireRequest.class,
      responseType = rowlock.v1.AcquireResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.AcquireRequest,
      rowlock.v1.AcquireResponse> getAcquireMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.AcquireRequest, rowlock.v1.AcquireResponse> getAcquireMethod;
    if ((getAcquireMethod = LockServiceGrpc.getAcquireMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getAcquireMethod = LockServiceGrpc.getAcquireMethod) == null) {
          LockServiceGrpc.getAcquireMethod = getAcquireMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.AcquireRequest, rowlock.v1.AcquireResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Acquire"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.AcquireRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.AcquireResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Acquire"))
              .build();
        }
      }
    }
    return getAcquireMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.WaitInQueueRequest,
      rowlock.v1.WaitInQueueResponse> getWaitInQueueMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WaitInQueue",
      requestType = rowlock.v1.WaitInQueueRequest.class,
      responseType = rowlock.v1.WaitInQueueResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<rowlock.v1.WaitInQueueRequest,
      rowlock.v1.WaitInQueueResponse> getWaitInQueueMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.WaitInQueueRequest, rowlock.v1.WaitInQueueResponse> getWaitInQueueMethod;
    if ((getWaitInQueueMethod = LockServiceGrpc.getWaitInQueueMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getWaitInQueueMethod = LockServiceGrpc.getWaitInQueueMethod) == null) {
          LockServiceGrpc.getWaitInQueueMethod = getWaitInQueueMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.WaitInQueueRequest, rowlock.v1.WaitInQueueResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WaitInQueue"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.WaitInQueueRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.WaitInQueueResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("WaitInQueue"))
              .build();
        }
      }
    }
    return getWaitInQueueMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.RenewRequest,
      rowlock.v1.RenewResponse> getRenewMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Renew",
      requestType = rowlock.v1.RenewRequest.class,
      responseType = rowlock.v1.RenewResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.RenewRequest,
      rowlock.v1.RenewResponse> getRenewMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.RenewRequest, rowlock.v1.RenewResponse> getRenewMethod;
    if ((getRenewMethod = LockServiceGrpc.getRenewMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getRenewMethod = LockServiceGrpc.getRenewMethod) == null) {
          LockServiceGrpc.getRenewMethod = getRenewMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.RenewRequest, rowlock.v1.RenewResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Renew"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.RenewRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.RenewResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Renew"))
              .build();
        }
      }
    }
    return getRenewMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ReleaseRequest,
      rowlock.v1.ReleaseResponse> getReleaseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Release",
      requestType = rowlock.v1.ReleaseRequest.class,
      responseType = rowlock.v1.ReleaseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ReleaseRequest,
      rowlock.v1.ReleaseResponse> getReleaseMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ReleaseRequest, rowlock.v1.ReleaseResponse> getReleaseMethod;
    if ((getReleaseMethod = LockServiceGrpc.getReleaseMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getReleaseMethod = LockServiceGrpc.getReleaseMethod) == null) {
          LockServiceGrpc.getReleaseMethod = getReleaseMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ReleaseRequest, rowlock.v1.ReleaseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Release"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ReleaseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ReleaseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Release"))
              .build();
        }
      }
    }
    return getReleaseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.SetLimitRequest,
      rowlock.v1.SetLimitResponse> getSetLimitMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "SetLimit",
      requestType = rowlock.v1.SetLimitRequest.class,
      responseType = rowlock.v1.SetLimitResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.SetLimitRequest,
      rowlock.v1.SetLimitResponse> getSetLimitMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.SetLimitRequest, rowlock.v1.SetLimitResponse> getSetLimitMethod;
    if ((getSetLimitMethod = LockServiceGrpc.getSetLimitMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getSetLimitMethod = LockServiceGrpc.getSetLimitMethod) == null) {
          LockServiceGrpc.getSetLimitMethod = getSetLimitMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.SetLimitRequest, rowlock.v1.SetLimitResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "SetLimit"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.SetLimitRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.SetLimitResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("SetLimit"))
              .build();
        }
      }
    }
    return getSetLimitMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.GetLockRequest,
      rowlock.v1.GetLockResponse> getGetLockMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "GetLock",
      requestType = rowlock.v1.GetLockRequest.class,
      responseType = rowlock.v1.GetLockResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.GetLockRequest,
      rowlock.v1.GetLockResponse> getGetLockMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.GetLockRequest, rowlock.v1.GetLockResponse> getGetLockMethod;
    if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getGetLockMethod = LockServiceGrpc.getGetLockMethod) == null) {
          LockServiceGrpc.getGetLockMethod = getGetLockMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.GetLockRequest, rowlock.v1.GetLockResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "GetLock"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.GetLockRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.GetLockResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("GetLock"))
              .build();
        }
      }
    }
    return getGetLockMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ListLocksRequest,
      rowlock.v1.ListLocksResponse> getListLocksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListLocks",
      requestType = rowlock.v1.ListLocksRequest.class,
      responseType = rowlock.v1.ListLocksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ListLocksRequest,
      rowlock.v1.ListLocksResponse> getListLocksMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ListLocksRequest, rowlock.v1.ListLocksResponse> getListLocksMethod;
    if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListLocksMethod = LockServiceGrpc.getListLocksMethod) == null) {
          LockServiceGrpc.getListLocksMethod = getListLocksMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ListLocksRequest, rowlock.v1.ListLocksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListLocks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListLocksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListLocksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListLocks"))
              .build();
        }
      }
    }
    return getListLocksMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ListLimitsRequest,
      rowlock.v1.ListLimitsResponse> getListLimitsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListLimits",
      requestType = rowlock.v1.ListLimitsRequest.class,
      responseType = rowlock.v1.ListLimitsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ListLimitsRequest,
      rowlock.v1.ListLimitsResponse> getListLimitsMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ListLimitsRequest, rowlock.v1.ListLimitsResponse> getListLimitsMethod;
    if ((getListLimitsMethod = LockServiceGrpc.getListLimitsMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListLimitsMethod = LockServiceGrpc.getListLimitsMethod) == null) {
          LockServiceGrpc.getListLimitsMethod = getListLimitsMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ListLimitsRequest, rowlock.v1.ListLimitsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListLimits"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListLimitsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListLimitsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListLimits"))
              .build();
        }
      }
    }
    return getListLimitsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ListClaimsRequest,
      rowlock.v1.ListClaimsResponse> getListClaimsMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListClaims",
      requestType = rowlock.v1.ListClaimsRequest.class,
      responseType = rowlock.v1.ListClaimsResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ListClaimsRequest,
      rowlock.v1.ListClaimsResponse> getListClaimsMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ListClaimsRequest, rowlock.v1.ListClaimsResponse> getListClaimsMethod;
    if ((getListClaimsMethod = LockServiceGrpc.getListClaimsMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListClaimsMethod = LockServiceGrpc.getListClaimsMethod) == null) {
          LockServiceGrpc.getListClaimsMethod = getListClaimsMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ListClaimsRequest, rowlock.v1.ListClaimsResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListClaims"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListClaimsRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListClaimsResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListClaims"))
              .build();
        }
      }
    }
    return getListClaimsMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ListChangesRequest,
      rowlock.v1.ListChangesResponse> getListChangesMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ListChanges",
      requestType = rowlock.v1.ListChangesRequest.class,
      responseType = rowlock.v1.ListChangesResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ListChangesRequest,
      rowlock.v1.ListChangesResponse> getListChangesMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ListChangesRequest, rowlock.v1.ListChangesResponse> getListChangesMethod;
    if ((getListChangesMethod = LockServiceGrpc.getListChangesMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getListChangesMethod = LockServiceGrpc.getListChangesMethod) == null) {
          LockServiceGrpc.getListChangesMethod = getListChangesMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ListChangesRequest, rowlock.v1.ListChangesResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ListChanges"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListChangesRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ListChangesResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ListChanges"))
              .build();
        }
      }
    }
    return getListChangesMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ExplainWaitRequest,
      rowlock.v1.ExplainWaitResponse> getExplainWaitMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ExplainWait",
      requestType = rowlock.v1.ExplainWaitRequest.class,
      responseType = rowlock.v1.ExplainWaitResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ExplainWaitRequest,
      rowlock.v1.ExplainWaitResponse> getExplainWaitMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ExplainWaitRequest, rowlock.v1.ExplainWaitResponse> getExplainWaitMethod;
    if ((getExplainWaitMethod = LockServiceGrpc.getExplainWaitMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getExplainWaitMethod = LockServiceGrpc.getExplainWaitMethod) == null) {
          LockServiceGrpc.getExplainWaitMethod = getExplainWaitMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ExplainWaitRequest, rowlock.v1.ExplainWaitResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ExplainWait"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ExplainWaitRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ExplainWaitResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ExplainWait"))
              .build();
        }
      }
    }
    return getExplainWaitMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.WatchLocksRequest,
      rowlock.v1.WatchLocksResponse> getWatchLocksMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "WatchLocks",
      requestType = rowlock.v1.WatchLocksRequest.class,
      responseType = rowlock.v1.WatchLocksResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
  public static io.grpc.MethodDescriptor<rowlock.v1.WatchLocksRequest,
      rowlock.v1.WatchLocksResponse> getWatchLocksMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.WatchLocksRequest, rowlock.v1.WatchLocksResponse> getWatchLocksMethod;
    if ((getWatchLocksMethod = LockServiceGrpc.getWatchLocksMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getWatchLocksMethod = LockServiceGrpc.getWatchLocksMethod) == null) {
          LockServiceGrpc.getWatchLocksMethod = getWatchLocksMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.WatchLocksRequest, rowlock.v1.WatchLocksResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "WatchLocks"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.WatchLocksRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.WatchLocksResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("WatchLocks"))
              .build();
        }
      }
    }
    return getWatchLocksMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.ForceReleaseRequest,
      rowlock.v1.ForceReleaseResponse> getForceReleaseMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "ForceRelease",
      requestType = rowlock.v1.ForceReleaseRequest.class,
      responseType = rowlock.v1.ForceReleaseResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.ForceReleaseRequest,
      rowlock.v1.ForceReleaseResponse> getForceReleaseMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.ForceReleaseRequest, rowlock.v1.ForceReleaseResponse> getForceReleaseMethod;
    if ((getForceReleaseMethod = LockServiceGrpc.getForceReleaseMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getForceReleaseMethod = LockServiceGrpc.getForceReleaseMethod) == null) {
          LockServiceGrpc.getForceReleaseMethod = getForceReleaseMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.ForceReleaseRequest, rowlock.v1.ForceReleaseResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "ForceRelease"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ForceReleaseRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.ForceReleaseResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("ForceRelease"))
              .build();
        }
      }
    }
    return getForceReleaseMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.UpdateRecordRequest,
      rowlock.v1.UpdateRecordResponse> getUpdateRecordMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "UpdateRecord",
      requestType = rowlock.v1.UpdateRecordRequest.class,
      responseType = rowlock.v1.UpdateRecordResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.UpdateRecordRequest,
      rowlock.v1.UpdateRecordResponse> getUpdateRecordMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.UpdateRecordRequest, rowlock.v1.UpdateRecordResponse> getUpdateRecordMethod;
    if ((getUpdateRecordMethod = LockServiceGrpc.getUpdateRecordMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getUpdateRecordMethod = LockServiceGrpc.getUpdateRecordMethod) == null) {
          LockServiceGrpc.getUpdateRecordMethod = getUpdateRecordMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.UpdateRecordRequest, rowlock.v1.UpdateRecordResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "UpdateRecord"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.UpdateRecordRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.UpdateRecordResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("UpdateRecord"))
              .build();
        }
      }
    }
    return getUpdateRecordMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.CaptureRequest,
      rowlock.v1.CaptureResponse> getCaptureMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Capture",
      requestType = rowlock.v1.CaptureRequest.class,
      responseType = rowlock.v1.CaptureResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.CaptureRequest,
      rowlock.v1.CaptureResponse> getCaptureMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.CaptureRequest, rowlock.v1.CaptureResponse> getCaptureMethod;
    if ((getCaptureMethod = LockServiceGrpc.getCaptureMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getCaptureMethod = LockServiceGrpc.getCaptureMethod) == null) {
          LockServiceGrpc.getCaptureMethod = getCaptureMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.CaptureRequest, rowlock.v1.CaptureResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Capture"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.CaptureRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.CaptureResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Capture"))
              .build();
        }
      }
    }
    return getCaptureMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.DeleteRecordRequest,
      rowlock.v1.DeleteRecordResponse> getDeleteRecordMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "DeleteRecord",
      requestType = rowlock.v1.DeleteRecordRequest.class,
      responseType = rowlock.v1.DeleteRecordResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<rowlock.v1.DeleteRecordRequest,
      rowlock.v1.DeleteRecordResponse> getDeleteRecordMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.DeleteRecordRequest, rowlock.v1.DeleteRecordResponse> getDeleteRecordMethod;
    if ((getDeleteRecordMethod = LockServiceGrpc.getDeleteRecordMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getDeleteRecordMethod = LockServiceGrpc.getDeleteRecordMethod) == null) {
          LockServiceGrpc.getDeleteRecordMethod = getDeleteRecordMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.DeleteRecordRequest, rowlock.v1.DeleteRecordResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "DeleteRecord"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.DeleteRecordRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.DeleteRecordResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("DeleteRecord"))
              .build();
        }
      }
    }
    return getDeleteRecordMethod;
  }

  private static volatile io.grpc.MethodDescriptor<rowlock.v1.SessionRequest,
      rowlock.v1.SessionResponse> getSessionMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Session",
      requestType = rowlock.v1.SessionRequest.class,
      responseType = rowlock.v1.SessionResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<rowlock.v1.SessionRequest,
      rowlock.v1.SessionResponse> getSessionMethod() {
    io.grpc.MethodDescriptor<rowlock.v1.SessionRequest, rowlock.v1.SessionResponse> getSessionMethod;
    if ((getSessionMethod = LockServiceGrpc.getSessionMethod) == null) {
      synchronized (LockServiceGrpc.class) {
        if ((getSessionMethod = LockServiceGrpc.getSessionMethod) == null) {
          LockServiceGrpc.getSessionMethod = getSessionMethod =
              io.grpc.MethodDescriptor.<rowlock.v1.SessionRequest, rowlock.v1.SessionResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Session"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.SessionRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  rowlock.v1.SessionResponse.getDefaultInstance()))
              .setSchemaDescriptor(new LockServiceMethodDescriptorSupplier("Session"))
              .build();
        }
      }
    }
    return getSessionMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static LockServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceStub>() {
        @java.lang.Override
        public LockServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceStub(channel, callOptions);
        }
      };
    return LockServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static LockServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingV2Stub>() {
        @java.lang.Override
        public LockServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return LockServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static LockServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceBlockingStub>() {
        @java.lang.Override
        public LockServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceBlockingStub(channel, callOptions);
        }
      };
    return LockServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static LockServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<LockServiceFutureStub>() {
        @java.lang.Override
        public LockServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new LockServiceFutureStub(channel, callOptions);
        }
      };
    return LockServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
   * first-come-first-served queues.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
     * decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
     * </pre>
     */
    default void acquire(rowlock.v1.AcquireRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.AcquireResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getAcquireMethod(), responseObserver);
    }

    /**
     * <pre>
     * Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
     * another one when `ahead` or `permits_ahead` has changed, and finally `granted`, `spent`, `refusal` or `ended`, which
     * closes the stream.
     * Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
     * the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
     * get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
     * get its ticket before that.
     * </pre>
     */
    default void waitInQueue(rowlock.v1.WaitInQueueRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.WaitInQueueResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWaitInQueueMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST, with a ClaimEnd in its details, after the lease has
     * ended, even if nobody took the lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
     * </pre>
     */
    default void renew(rowlock.v1.RenewRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.RenewResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRenewMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
     * repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
     * lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
     * these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
     * </pre>
     */
    default void release(rowlock.v1.ReleaseRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ReleaseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getReleaseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets the limit, the rate, the queue rules or several of them for a name or a pattern, to absolute values. A higher limit grants waiters in the same
     * transaction (for a pattern, at the first locks with waiters, at most 500 today; at the others in further transactions before
     * the answer). A lower limit revokes nothing: the lock drains. A new rate applies to the next grant; it counts what was taken
     * under the rate before, but keeps nobody waiting for longer than a burst of the new one takes to come back. If another
     * transaction holds the rows of a lock, its waiters are granted when the rows are free. A call that is repeated after a lost
     * answer sets the limit again, over what others have set since. With expected_version, the repeated call fails as
     * VERSION_MISMATCH instead, with the version that the first call made. See OUTCOME_UNKNOWN.
     * For a pool, a higher limit lets waiters go on within milliseconds. A new pool limits from the first decision of a server that
     * knows it, and servers count those who hold already: see SetLimitResponse.counting. A removed pool limits nobody any more.
     * </pre>
     */
    default void setLimit(rowlock.v1.SetLimitRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.SetLimitResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getSetLimitMethod(), responseObserver);
    }

    /**
     * <pre>
     * Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
     * deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
     * OVERLOADED if the server has too many reads for display.
     * </pre>
     */
    default void getLock(rowlock.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getGetLockMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
     * A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
     * </pre>
     */
    default void listLocks(rowlock.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListLocksMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
     * unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
     * </pre>
     */
    default void listLimits(rowlock.v1.ListLimitsRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListLimitsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListLimitsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
     * in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the times
     * when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
     * retention time. A page ends early if the server has searched many ended claims for it, today 10,000: then it has a token
     * and `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
     * for GetLock.
     * </pre>
     */
    default void listClaims(rowlock.v1.ListClaimsRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListClaimsResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListClaimsMethod(), responseObserver);
    }

    /**
     * <pre>
     * Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
     * keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
     * OVERLOADED as for GetLock.
     * </pre>
     */
    default void listChanges(rowlock.v1.ListChangesRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListChangesResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getListChangesMethod(), responseObserver);
    }

    /**
     * <pre>
     * Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
     * read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
     * </pre>
     */
    default void explainWait(rowlock.v1.ExplainWaitRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ExplainWaitResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getExplainWaitMethod(), responseObserver);
    }

    /**
     * <pre>
     * Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
     * shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
     * sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
     * s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
     * The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
     * behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
     * `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
     * the server stops: then watch again through another server.
     * A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps, today, 100 watches
     * of 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
     * session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or
     * one that was open before. Watch again later, or watch a longer prefix.
     * </pre>
     */
    default void watchLocks(rowlock.v1.WatchLocksRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.WatchLocksResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getWatchLocksMethod(), responseObserver);
    }

    /**
     * <pre>
     * Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
     * The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
     * a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
     * UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
     * </pre>
     */
    default void forceRelease(rowlock.v1.ForceReleaseRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ForceReleaseResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getForceReleaseMethod(), responseObserver);
    }

    /**
     * <pre>
     * Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
     * that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
     * not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
     * after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
     * call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
     * since. See OUTCOME_UNKNOWN.
     * </pre>
     */
    default void updateRecord(rowlock.v1.UpdateRecordRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.UpdateRecordResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getUpdateRecordMethod(), responseObserver);
    }

    /**
     * <pre>
     * Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
     * the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
     * A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
     * call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
     * of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
     * leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
     * The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
     * the prefix, but not with the number of locks.
     * </pre>
     */
    default void capture(rowlock.v1.CaptureRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.CaptureResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getCaptureMethod(), responseObserver);
    }

    /**
     * <pre>
     * Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
     * its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
     * or waits for it. See OUTCOME_UNKNOWN.
     * </pre>
     */
    default void deleteRecord(rowlock.v1.DeleteRecordRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.DeleteRecordResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getDeleteRecordMethod(), responseObserver);
    }

    /**
     * <pre>
     * Carries all calls of a client over one stream: any number of commands in each request, any number of results in
     * each response. It costs much less than single calls if a client has many locks or waits. The verbs mean the same.
     * Calls: the client numbers them from 1 on. A number is free again after the last result of its call. Results of one
     * call come in order; between calls no order is promised. In one request, the server handles `cancel`, `release` and
     * renewals first and listings last.
     * Presence: the waiters of a session are present while it lives. The server must hear from the client at least once
     * per `silence_max`, if need be by an empty request, or the session ends. However it ends, places are kept for the
     * grace period and leases until their ends. Only a call that the client cannot return to (an Acquire that waits,
     * without a request_id) is given up. The client returns with a new session, through any server. Its first request may
     * name all that it had: `wait_in_queue` with the ticket_id, `renew` with the lease_id, `acquire` with the same
     * request_id.
     * Acknowledgements: `received` says how far the client has read. A grant after a wait is provisional until the client
     * has acknowledged the response that brought it. Then the server confirms the lease and sends it once more with its
     * whole ttl. If the request has min_interval, lock_delay, status_if_lost or if_status, the client renews the lease
     * before it begins to work: see Lease.provisional.
     * Deadlines: a response says how many requests the server had received when it made the response. The holder's own
     * deadline for any lease in it is (monotonic time before it sent the last of those requests) + ttl - margin, also
     * for a provisional lease.
     * Ends: OK when the client has closed its side and the last call has ended. UNAVAILABLE SHUTTING_DOWN when the server
     * stops, when it has lost its database and another server has not, or when the connection is as old as it may be: then it
     * sends `going_away`, takes no more commands, ends waits with that error, and finishes its other calls. INVALID_ARGUMENT
     * BAD_REQUEST if the first request lacks `open`, or a later one has it. UNAVAILABLE SESSION_SILENT. RESOURCE_EXHAUSTED
     * OVERLOADED with the bound `results_unread` if the client does not read its results. UNAUTHENTICATED CREDENTIALS_EXPIRED
     * when the token of its first request expires, and PERMISSION_DENIED RIGHT_MISSING when the caller loses a right: leases
     * and places are kept, as with any end. Otherwise as any call, for example for a message that is too large.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<rowlock.v1.SessionRequest> session(
        io.grpc.stub.StreamObserver<rowlock.v1.SessionResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getSessionMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service LockService.
   * <pre>
   * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
   * first-come-first-served queues.
   * </pre>
   */
  public static abstract class LockServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return LockServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service LockService.
   * <pre>
   * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
   * first-come-first-served queues.
   * </pre>
   */
  public static final class LockServiceStub
      extends io.grpc.stub.AbstractAsyncStub<LockServiceStub> {
    private LockServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
     * decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
     * </pre>
     */
    public void acquire(rowlock.v1.AcquireRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.AcquireResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getAcquireMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
     * another one when `ahead` or `permits_ahead` has changed, and finally `granted`, `spent`, `refusal` or `ended`, which
     * closes the stream.
     * Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
     * the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
     * get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
     * get its ticket before that.
     * </pre>
     */
    public void waitInQueue(rowlock.v1.WaitInQueueRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.WaitInQueueResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWaitInQueueMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST, with a ClaimEnd in its details, after the lease has
     * ended, even if nobody took the lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
     * </pre>
     */
    public void renew(rowlock.v1.RenewRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.RenewResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRenewMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
     * repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
     * lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
     * these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
     * </pre>
     */
    public void release(rowlock.v1.ReleaseRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ReleaseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getReleaseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets the limit, the rate, the queue rules or several of them for a name or a pattern, to absolute values. A higher limit grants waiters in the same
     * transaction (for a pattern, at the first locks with waiters, at most 500 today; at the others in further transactions before
     * the answer). A lower limit revokes nothing: the lock drains. A new rate applies to the next grant; it counts what was taken
     * under the rate before, but keeps nobody waiting for longer than a burst of the new one takes to come back. If another
     * transaction holds the rows of a lock, its waiters are granted when the rows are free. A call that is repeated after a lost
     * answer sets the limit again, over what others have set since. With expected_version, the repeated call fails as
     * VERSION_MISMATCH instead, with the version that the first call made. See OUTCOME_UNKNOWN.
     * For a pool, a higher limit lets waiters go on within milliseconds. A new pool limits from the first decision of a server that
     * knows it, and servers count those who hold already: see SetLimitResponse.counting. A removed pool limits nobody any more.
     * </pre>
     */
    public void setLimit(rowlock.v1.SetLimitRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.SetLimitResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getSetLimitMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
     * deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
     * OVERLOADED if the server has too many reads for display.
     * </pre>
     */
    public void getLock(rowlock.v1.GetLockRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.GetLockResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
     * A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
     * </pre>
     */
    public void listLocks(rowlock.v1.ListLocksRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListLocksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
     * unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
     * </pre>
     */
    public void listLimits(rowlock.v1.ListLimitsRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListLimitsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListLimitsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
     * in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the times
     * when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
     * retention time. A page ends early if the server has searched many ended claims for it, today 10,000: then it has a token
     * and `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
     * for GetLock.
     * </pre>
     */
    public void listClaims(rowlock.v1.ListClaimsRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListClaimsResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListClaimsMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
     * keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
     * OVERLOADED as for GetLock.
     * </pre>
     */
    public void listChanges(rowlock.v1.ListChangesRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ListChangesResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getListChangesMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
     * read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
     * </pre>
     */
    public void explainWait(rowlock.v1.ExplainWaitRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ExplainWaitResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getExplainWaitMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
     * shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
     * sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
     * s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
     * The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
     * behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
     * `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
     * the server stops: then watch again through another server.
     * A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps, today, 100 watches
     * of 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
     * session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or
     * one that was open before. Watch again later, or watch a longer prefix.
     * </pre>
     */
    public void watchLocks(rowlock.v1.WatchLocksRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.WatchLocksResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncServerStreamingCall(
          getChannel().newCall(getWatchLocksMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
     * The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
     * a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
     * UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
     * </pre>
     */
    public void forceRelease(rowlock.v1.ForceReleaseRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.ForceReleaseResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getForceReleaseMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
     * that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
     * not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
     * after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
     * call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
     * since. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public void updateRecord(rowlock.v1.UpdateRecordRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.UpdateRecordResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getUpdateRecordMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
     * the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
     * A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
     * call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
     * of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
     * leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
     * The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
     * the prefix, but not with the number of locks.
     * </pre>
     */
    public void capture(rowlock.v1.CaptureRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.CaptureResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getCaptureMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
     * its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
     * or waits for it. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public void deleteRecord(rowlock.v1.DeleteRecordRequest request,
        io.grpc.stub.StreamObserver<rowlock.v1.DeleteRecordResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getDeleteRecordMethod(), getCallOptions()), request, responseObserver);
    }

    /**
     * <pre>
     * Carries all calls of a client over one stream: any number of commands in each request, any number of results in
     * each response. It costs much less than single calls if a client has many locks or waits. The verbs mean the same.
     * Calls: the client numbers them from 1 on. A number is free again after the last result of its call. Results of one
     * call come in order; between calls no order is promised. In one request, the server handles `cancel`, `release` and
     * renewals first and listings last.
     * Presence: the waiters of a session are present while it lives. The server must hear from the client at least once
     * per `silence_max`, if need be by an empty request, or the session ends. However it ends, places are kept for the
     * grace period and leases until their ends. Only a call that the client cannot return to (an Acquire that waits,
     * without a request_id) is given up. The client returns with a new session, through any server. Its first request may
     * name all that it had: `wait_in_queue` with the ticket_id, `renew` with the lease_id, `acquire` with the same
     * request_id.
     * Acknowledgements: `received` says how far the client has read. A grant after a wait is provisional until the client
     * has acknowledged the response that brought it. Then the server confirms the lease and sends it once more with its
     * whole ttl. If the request has min_interval, lock_delay, status_if_lost or if_status, the client renews the lease
     * before it begins to work: see Lease.provisional.
     * Deadlines: a response says how many requests the server had received when it made the response. The holder's own
     * deadline for any lease in it is (monotonic time before it sent the last of those requests) + ttl - margin, also
     * for a provisional lease.
     * Ends: OK when the client has closed its side and the last call has ended. UNAVAILABLE SHUTTING_DOWN when the server
     * stops, when it has lost its database and another server has not, or when the connection is as old as it may be: then it
     * sends `going_away`, takes no more commands, ends waits with that error, and finishes its other calls. INVALID_ARGUMENT
     * BAD_REQUEST if the first request lacks `open`, or a later one has it. UNAVAILABLE SESSION_SILENT. RESOURCE_EXHAUSTED
     * OVERLOADED with the bound `results_unread` if the client does not read its results. UNAUTHENTICATED CREDENTIALS_EXPIRED
     * when the token of its first request expires, and PERMISSION_DENIED RIGHT_MISSING when the caller loses a right: leases
     * and places are kept, as with any end. Otherwise as any call, for example for a message that is too large.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<rowlock.v1.SessionRequest> session(
        io.grpc.stub.StreamObserver<rowlock.v1.SessionResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getSessionMethod(), getCallOptions()), responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service LockService.
   * <pre>
   * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
   * first-come-first-served queues.
   * </pre>
   */
  public static final class LockServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingV2Stub> {
    private LockServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
     * decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
     * </pre>
     */
    public rowlock.v1.AcquireResponse acquire(rowlock.v1.AcquireRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getAcquireMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
     * another one when `ahead` or `permits_ahead` has changed, and finally `granted`, `spent`, `refusal` or `ended`, which
     * closes the stream.
     * Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
     * the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
     * get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
     * get its ticket before that.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, rowlock.v1.WaitInQueueResponse>
        waitInQueue(rowlock.v1.WaitInQueueRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWaitInQueueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST, with a ClaimEnd in its details, after the lease has
     * ended, even if nobody took the lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
     * </pre>
     */
    public rowlock.v1.RenewResponse renew(rowlock.v1.RenewRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRenewMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
     * repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
     * lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
     * these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
     * </pre>
     */
    public rowlock.v1.ReleaseResponse release(rowlock.v1.ReleaseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getReleaseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the limit, the rate, the queue rules or several of them for a name or a pattern, to absolute values. A higher limit grants waiters in the same
     * transaction (for a pattern, at the first locks with waiters, at most 500 today; at the others in further transactions before
     * the answer). A lower limit revokes nothing: the lock drains. A new rate applies to the next grant; it counts what was taken
     * under the rate before, but keeps nobody waiting for longer than a burst of the new one takes to come back. If another
     * transaction holds the rows of a lock, its waiters are granted when the rows are free. A call that is repeated after a lost
     * answer sets the limit again, over what others have set since. With expected_version, the repeated call fails as
     * VERSION_MISMATCH instead, with the version that the first call made. See OUTCOME_UNKNOWN.
     * For a pool, a higher limit lets waiters go on within milliseconds. A new pool limits from the first decision of a server that
     * knows it, and servers count those who hold already: see SetLimitResponse.counting. A removed pool limits nobody any more.
     * </pre>
     */
    public rowlock.v1.SetLimitResponse setLimit(rowlock.v1.SetLimitRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getSetLimitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
     * deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
     * OVERLOADED if the server has too many reads for display.
     * </pre>
     */
    public rowlock.v1.GetLockResponse getLock(rowlock.v1.GetLockRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
     * A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ListLocksResponse listLocks(rowlock.v1.ListLocksRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
     * unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ListLimitsResponse listLimits(rowlock.v1.ListLimitsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListLimitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
     * in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the times
     * when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
     * retention time. A page ends early if the server has searched many ended claims for it, today 10,000: then it has a token
     * and `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
     * for GetLock.
     * </pre>
     */
    public rowlock.v1.ListClaimsResponse listClaims(rowlock.v1.ListClaimsRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListClaimsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
     * keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
     * OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ListChangesResponse listChanges(rowlock.v1.ListChangesRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getListChangesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
     * read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ExplainWaitResponse explainWait(rowlock.v1.ExplainWaitRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getExplainWaitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
     * shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
     * sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
     * s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
     * The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
     * behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
     * `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
     * the server stops: then watch again through another server.
     * A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps, today, 100 watches
     * of 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
     * session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or
     * one that was open before. Watch again later, or watch a longer prefix.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<?, rowlock.v1.WatchLocksResponse>
        watchLocks(rowlock.v1.WatchLocksRequest request) {
      return io.grpc.stub.ClientCalls.blockingV2ServerStreamingCall(
          getChannel(), getWatchLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
     * The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
     * a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
     * UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
     * </pre>
     */
    public rowlock.v1.ForceReleaseResponse forceRelease(rowlock.v1.ForceReleaseRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getForceReleaseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
     * that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
     * not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
     * after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
     * call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
     * since. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public rowlock.v1.UpdateRecordResponse updateRecord(rowlock.v1.UpdateRecordRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getUpdateRecordMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
     * the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
     * A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
     * call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
     * of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
     * leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
     * The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
     * the prefix, but not with the number of locks.
     * </pre>
     */
    public rowlock.v1.CaptureResponse capture(rowlock.v1.CaptureRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getCaptureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
     * its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
     * or waits for it. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public rowlock.v1.DeleteRecordResponse deleteRecord(rowlock.v1.DeleteRecordRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getDeleteRecordMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Carries all calls of a client over one stream: any number of commands in each request, any number of results in
     * each response. It costs much less than single calls if a client has many locks or waits. The verbs mean the same.
     * Calls: the client numbers them from 1 on. A number is free again after the last result of its call. Results of one
     * call come in order; between calls no order is promised. In one request, the server handles `cancel`, `release` and
     * renewals first and listings last.
     * Presence: the waiters of a session are present while it lives. The server must hear from the client at least once
     * per `silence_max`, if need be by an empty request, or the session ends. However it ends, places are kept for the
     * grace period and leases until their ends. Only a call that the client cannot return to (an Acquire that waits,
     * without a request_id) is given up. The client returns with a new session, through any server. Its first request may
     * name all that it had: `wait_in_queue` with the ticket_id, `renew` with the lease_id, `acquire` with the same
     * request_id.
     * Acknowledgements: `received` says how far the client has read. A grant after a wait is provisional until the client
     * has acknowledged the response that brought it. Then the server confirms the lease and sends it once more with its
     * whole ttl. If the request has min_interval, lock_delay, status_if_lost or if_status, the client renews the lease
     * before it begins to work: see Lease.provisional.
     * Deadlines: a response says how many requests the server had received when it made the response. The holder's own
     * deadline for any lease in it is (monotonic time before it sent the last of those requests) + ttl - margin, also
     * for a provisional lease.
     * Ends: OK when the client has closed its side and the last call has ended. UNAVAILABLE SHUTTING_DOWN when the server
     * stops, when it has lost its database and another server has not, or when the connection is as old as it may be: then it
     * sends `going_away`, takes no more commands, ends waits with that error, and finishes its other calls. INVALID_ARGUMENT
     * BAD_REQUEST if the first request lacks `open`, or a later one has it. UNAVAILABLE SESSION_SILENT. RESOURCE_EXHAUSTED
     * OVERLOADED with the bound `results_unread` if the client does not read its results. UNAUTHENTICATED CREDENTIALS_EXPIRED
     * when the token of its first request expires, and PERMISSION_DENIED RIGHT_MISSING when the caller loses a right: leases
     * and places are kept, as with any end. Otherwise as any call, for example for a message that is too large.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<rowlock.v1.SessionRequest, rowlock.v1.SessionResponse>
        session() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getSessionMethod(), getCallOptions());
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service LockService.
   * <pre>
   * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
   * first-come-first-served queues.
   * </pre>
   */
  public static final class LockServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<LockServiceBlockingStub> {
    private LockServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
     * decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
     * </pre>
     */
    public rowlock.v1.AcquireResponse acquire(rowlock.v1.AcquireRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getAcquireMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Waits in the queue and streams the place: first a position (unless the server grants the lock at once), then
     * another one when `ahead` or `permits_ahead` has changed, and finally `granted`, `spent`, `refusal` or `ended`, which
     * closes the stream.
     * Changes are coalesced. A change of `queue_length` alone causes no update. If the stream is lost, the server keeps
     * the place for the grace period: return with `ticket_id`, through any server. Two streams may follow one place; both
     * get its updates. A server that stops ends its streams with SHUTTING_DOWN. A call that arrives meanwhile may still
     * get its ticket before that.
     * </pre>
     */
    public java.util.Iterator<rowlock.v1.WaitInQueueResponse> waitInQueue(
        rowlock.v1.WaitInQueueRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWaitInQueueMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST, with a ClaimEnd in its details, after the lease has
     * ended, even if nobody took the lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
     * </pre>
     */
    public rowlock.v1.RenewResponse renew(rowlock.v1.RenewRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRenewMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
     * repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
     * lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
     * these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
     * </pre>
     */
    public rowlock.v1.ReleaseResponse release(rowlock.v1.ReleaseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getReleaseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets the limit, the rate, the queue rules or several of them for a name or a pattern, to absolute values. A higher limit grants waiters in the same
     * transaction (for a pattern, at the first locks with waiters, at most 500 today; at the others in further transactions before
     * the answer). A lower limit revokes nothing: the lock drains. A new rate applies to the next grant; it counts what was taken
     * under the rate before, but keeps nobody waiting for longer than a burst of the new one takes to come back. If another
     * transaction holds the rows of a lock, its waiters are granted when the rows are free. A call that is repeated after a lost
     * answer sets the limit again, over what others have set since. With expected_version, the repeated call fails as
     * VERSION_MISMATCH instead, with the version that the first call made. See OUTCOME_UNKNOWN.
     * For a pool, a higher limit lets waiters go on within milliseconds. A new pool limits from the first decision of a server that
     * knows it, and servers count those who hold already: see SetLimitResponse.counting. A removed pool limits nobody any more.
     * </pre>
     */
    public rowlock.v1.SetLimitResponse setLimit(rowlock.v1.SetLimitRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getSetLimitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
     * deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
     * OVERLOADED if the server has too many reads for display.
     * </pre>
     */
    public rowlock.v1.GetLockResponse getLock(rowlock.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getGetLockMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
     * A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ListLocksResponse listLocks(rowlock.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
     * unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ListLimitsResponse listLimits(rowlock.v1.ListLimitsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListLimitsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
     * in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the times
     * when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
     * retention time. A page ends early if the server has searched many ended claims for it, today 10,000: then it has a token
     * and `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
     * for GetLock.
     * </pre>
     */
    public rowlock.v1.ListClaimsResponse listClaims(rowlock.v1.ListClaimsRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListClaimsMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
     * keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
     * OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ListChangesResponse listChanges(rowlock.v1.ListChangesRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getListChangesMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
     * read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
     * </pre>
     */
    public rowlock.v1.ExplainWaitResponse explainWait(rowlock.v1.ExplainWaitRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getExplainWaitMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Streams the locks under a prefix, and then each lock that changes: for dashboards and schedulers. Each message
     * shows a lock in its state when the message is sent. Frequent changes are coalesced: the latest state is always
     * sent, states in between are not. Changes by this server are sent at once, changes by other servers within about 1.5
     * s. A deleted lock is reported within about 1 s for each 1,000 watched locks.
     * The stream begins with a snapshot in any number of messages; the last one says `complete`. If the stream falls
     * behind (the client reads too slowly, or the database was away or has failed over), it begins anew: a message says
     * `began_anew`, and a new snapshot replaces all that was sent before. The stream ends only with SHUTTING_DOWN when
     * the server stops: then watch again through another server.
     * A read: it creates no lock, and counts as an open wait of its connection or session. A server keeps, today, 100 watches
     * of 100,000 locks in total. Beyond that, the caller with the most of them (if the server asks nobody who calls: the
     * session or connection) loses one, with OVERLOADED and the bound `watches` or `watched_locks`. That may be this stream or
     * one that was open before. Watch again later, or watch a longer prefix.
     * </pre>
     */
    public java.util.Iterator<rowlock.v1.WatchLocksResponse> watchLocks(
        rowlock.v1.WatchLocksRequest request) {
      return io.grpc.stub.ClientCalls.blockingServerStreamingCall(
          getChannel(), getWatchLocksMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
     * The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
     * a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
     * UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
     * </pre>
     */
    public rowlock.v1.ForceReleaseResponse forceRelease(rowlock.v1.ForceReleaseRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getForceReleaseMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
     * that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
     * not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
     * after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
     * call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
     * since. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public rowlock.v1.UpdateRecordResponse updateRecord(rowlock.v1.UpdateRecordRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getUpdateRecordMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
     * the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
     * A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
     * call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
     * of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
     * leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
     * The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
     * the prefix, but not with the number of locks.
     * </pre>
     */
    public rowlock.v1.CaptureResponse capture(rowlock.v1.CaptureRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getCaptureMethod(), getCallOptions(), request);
    }

    /**
     * <pre>
     * Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
     * its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
     * or waits for it. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public rowlock.v1.DeleteRecordResponse deleteRecord(rowlock.v1.DeleteRecordRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getDeleteRecordMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service LockService.
   * <pre>
   * Mutexes, semaphores whose limit an operator changes, and readers-writer locks, with leases, fencing tokens and
   * first-come-first-served queues.
   * </pre>
   */
  public static final class LockServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<LockServiceFutureStub> {
    private LockServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected LockServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new LockServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Asks for a lock. The server grants it at once if it fits beside the holders and nobody waits; otherwise when_busy
     * decides. Safe to repeat with the same request_id: the answer is the same claim in its present state.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.AcquireResponse> acquire(
        rowlock.v1.AcquireRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getAcquireMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets the end of a lease to now + ttl. Safe to repeat. LEASE_LOST, with a ClaimEnd in its details, after the lease has
     * ended, even if nobody took the lock since; NOT_GRANTED_YET for a ticket that waits; UNKNOWN_CLAIM for an unknown id.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.RenewResponse> renew(
        rowlock.v1.RenewRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRenewMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends a lease, or gives up a place in the queue, and grants the next waiters in the same transaction. Safe to
     * repeat: a second call returns released = false, and UNKNOWN_CLAIM after the retention time. The call that ends the
     * lease also writes cool_down, status and attempts_left into the lock's record, before the next grant. If any of
     * these fields is set and the ticket still waits, the answer is NOT_GRANTED_YET, and nothing changes.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ReleaseResponse> release(
        rowlock.v1.ReleaseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getReleaseMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets the limit, the rate, the queue rules or several of them for a name or a pattern, to absolute values. A higher limit grants waiters in the same
     * transaction (for a pattern, at the first locks with waiters, at most 500 today; at the others in further transactions before
     * the answer). A lower limit revokes nothing: the lock drains. A new rate applies to the next grant; it counts what was taken
     * under the rate before, but keeps nobody waiting for longer than a burst of the new one takes to come back. If another
     * transaction holds the rows of a lock, its waiters are granted when the rows are free. A call that is repeated after a lost
     * answer sets the limit again, over what others have set since. With expected_version, the repeated call fails as
     * VERSION_MISMATCH instead, with the version that the first call made. See OUTCOME_UNKNOWN.
     * For a pool, a higher limit lets waiters go on within milliseconds. A new pool limits from the first decision of a server that
     * knows it, and servers count those who hold already: see SetLimitResponse.counting. A removed pool limits nobody any more.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.SetLimitResponse> setLimit(
        rowlock.v1.SetLimitRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getSetLimitMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Returns one lock with its holders and first waiters. For a name that nobody has used, or whose row the server has
     * deleted as idle, the answer is its limit and no holders. A read: it creates no lock and is safe to repeat.
     * OVERLOADED if the server has too many reads for display.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.GetLockResponse> getLock(
        rowlock.v1.GetLockRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getGetLockMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists locks, page by page in byte order of their names, or the first page in another order. A read, safe to repeat.
     * A page is not a snapshot of one instant, but each lock on it is. OVERLOADED as for GetLock.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ListLocksResponse> listLocks(
        rowlock.v1.ListLocksRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListLocksMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists the limits that were set: first for patterns, then for names, each in byte order. Limits that SetLimit has
     * unset are not listed. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as for GetLock.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ListLimitsResponse> listLimits(
        rowlock.v1.ListLimitsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListLimitsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists claims that are live or have ended: who held a lock at a time, who waited, how it ended. Live claims come first,
     * in the order of their locks' names, then ended ones, newest first: of one lock by ticket numbers, otherwise by the times
     * when they ended. The server keeps ended claims as long as its history says (`ROWLOCK_HISTORY`), at least for the
     * retention time. A page ends early if the server has searched many ended claims for it, today 10,000: then it has a token
     * and `searched_back_to`, and may be empty. A read, safe to repeat. Pages are not a snapshot of one instant. OVERLOADED as
     * for GetLock.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ListClaimsResponse> listClaims(
        rowlock.v1.ListClaimsRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListClaimsMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Lists changes that people and schedulers made, newest first: limits, records, forced releases, policies. The server
     * keeps them for `ROWLOCK_CHANGES_RETENTION`. A read, safe to repeat. Pages are not a snapshot of one instant.
     * OVERLOADED as for GetLock.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ListChangesResponse> listChanges(
        rowlock.v1.ListChangesRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getListChangesMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Says why a claim waits, or why a request for a name would not be granted now, and about how long that may last. A
     * read, safe to repeat. UNKNOWN_CLAIM if the claim does not wait (any more). OVERLOADED as for GetLock.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ExplainWaitResponse> explainWait(
        rowlock.v1.ExplainWaitRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getExplainWaitMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Ends claims without knowing their ids, and grants the next waiters in the same transaction: a tool for operators.
     * The server does not ask the holder, whose late writes only a fence refuses. A call for one claim is safe to repeat:
     * a claim that has ended is not listed again. A repeated call for a name ends those who hold the lock by then.
     * UNKNOWN_LOCK if nobody has named the lock or the server has deleted its row as idle.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.ForceReleaseResponse> forceRelease(
        rowlock.v1.ForceReleaseRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getForceReleaseMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Sets fields of a lock's record, and creates the lock and the record if necessary: for schedulers, for programs
     * that create tasks, and for operators. Grants waiters that the change makes room for in the same transaction; does
     * not affect a lease. VERSION_MISMATCH if expected_version is not the record's version. A call that is repeated
     * after a lost answer sets the record again, over what others have set since. With expected_version, the repeated
     * call fails as VERSION_MISMATCH instead, with the version that the first call made, unless the record has changed
     * since. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.UpdateRecordResponse> updateRecord(
        rowlock.v1.UpdateRecordRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getUpdateRecordMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Takes leases on up to N of many locks in one call: a worker's next tasks. See CaptureRequest. Safe to repeat with
     * the same request_id: the answer has the leases of the first call that are still held, renewed, and no others.
     * A cancelled call starts nothing more. If the client cannot return, because it sent no request_id or cancelled the
     * call in a session, the server gives back what the call has taken, with its attempts. It keeps a lease that a repeat
     * of the call has got. A unary call with a request_id may have lost its connection instead, so the server keeps its
     * leases: for the grace period after a wait, otherwise for their ttl. Repeat the call to get them, then release them.
     * The cost grows with the number of leases, and with the number of folders (names up to a slash) and statuses under
     * the prefix, but not with the number of locks.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.CaptureResponse> capture(
        rowlock.v1.CaptureRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getCaptureMethod(), getCallOptions()), request);
    }

    /**
     * <pre>
     * Removes a lock's record, as if it had never had one: the lock may be granted at any time, any number of times, and
     * its status is "". Its limit stays, and its fencing tokens continue to rise. LOCK_IN_USE if somebody holds the lock
     * or waits for it. See OUTCOME_UNKNOWN.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<rowlock.v1.DeleteRecordResponse> deleteRecord(
        rowlock.v1.DeleteRecordRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getDeleteRecordMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_ACQUIRE = 0;
  private static final int METHODID_WAIT_IN_QUEUE = 1;
  private static final int METHODID_RENEW = 2;
  private static final int METHODID_RELEASE = 3;
  private static final int METHODID_SET_LIMIT = 4;
  private static final int METHODID_GET_LOCK = 5;
  private static final int METHODID_LIST_LOCKS = 6;
  private static final int METHODID_LIST_LIMITS = 7;
  private static final int METHODID_LIST_CLAIMS = 8;
  private static final int METHODID_LIST_CHANGES = 9;
  private static final int METHODID_EXPLAIN_WAIT = 10;
  private static final int METHODID_WATCH_LOCKS = 11;
  private static final int METHODID_FORCE_RELEASE = 12;
  private static final int METHODID_UPDATE_RECORD = 13;
  private static final int METHODID_CAPTURE = 14;
  private static final int METHODID_DELETE_RECORD = 15;
  private static final int METHODID_SESSION = 16;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_ACQUIRE:
          serviceImpl.acquire((rowlock.v1.AcquireRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.AcquireResponse>) responseObserver);
          break;
        case METHODID_WAIT_IN_QUEUE:
          serviceImpl.waitInQueue((rowlock.v1.WaitInQueueRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.WaitInQueueResponse>) responseObserver);
          break;
        case METHODID_RENEW:
          serviceImpl.renew((rowlock.v1.RenewRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.RenewResponse>) responseObserver);
          break;
        case METHODID_RELEASE:
          serviceImpl.release((rowlock.v1.ReleaseRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ReleaseResponse>) responseObserver);
          break;
        case METHODID_SET_LIMIT:
          serviceImpl.setLimit((rowlock.v1.SetLimitRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.SetLimitResponse>) responseObserver);
          break;
        case METHODID_GET_LOCK:
          serviceImpl.getLock((rowlock.v1.GetLockRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.GetLockResponse>) responseObserver);
          break;
        case METHODID_LIST_LOCKS:
          serviceImpl.listLocks((rowlock.v1.ListLocksRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ListLocksResponse>) responseObserver);
          break;
        case METHODID_LIST_LIMITS:
          serviceImpl.listLimits((rowlock.v1.ListLimitsRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ListLimitsResponse>) responseObserver);
          break;
        case METHODID_LIST_CLAIMS:
          serviceImpl.listClaims((rowlock.v1.ListClaimsRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ListClaimsResponse>) responseObserver);
          break;
        case METHODID_LIST_CHANGES:
          serviceImpl.listChanges((rowlock.v1.ListChangesRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ListChangesResponse>) responseObserver);
          break;
        case METHODID_EXPLAIN_WAIT:
          serviceImpl.explainWait((rowlock.v1.ExplainWaitRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ExplainWaitResponse>) responseObserver);
          break;
        case METHODID_WATCH_LOCKS:
          serviceImpl.watchLocks((rowlock.v1.WatchLocksRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.WatchLocksResponse>) responseObserver);
          break;
        case METHODID_FORCE_RELEASE:
          serviceImpl.forceRelease((rowlock.v1.ForceReleaseRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.ForceReleaseResponse>) responseObserver);
          break;
        case METHODID_UPDATE_RECORD:
          serviceImpl.updateRecord((rowlock.v1.UpdateRecordRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.UpdateRecordResponse>) responseObserver);
          break;
        case METHODID_CAPTURE:
          serviceImpl.capture((rowlock.v1.CaptureRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.CaptureResponse>) responseObserver);
          break;
        case METHODID_DELETE_RECORD:
          serviceImpl.deleteRecord((rowlock.v1.DeleteRecordRequest) request,
              (io.grpc.stub.StreamObserver<rowlock.v1.DeleteRecordResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_SESSION:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.session(
              (io.grpc.stub.StreamObserver<rowlock.v1.SessionResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getAcquireMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.AcquireRequest,
              rowlock.v1.AcquireResponse>(
                service, METHODID_ACQUIRE)))
        .addMethod(
          getWaitInQueueMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              rowlock.v1.WaitInQueueRequest,
              rowlock.v1.WaitInQueueResponse>(
                service, METHODID_WAIT_IN_QUEUE)))
        .addMethod(
          getRenewMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.RenewRequest,
              rowlock.v1.RenewResponse>(
                service, METHODID_RENEW)))
        .addMethod(
          getReleaseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ReleaseRequest,
              rowlock.v1.ReleaseResponse>(
                service, METHODID_RELEASE)))
        .addMethod(
          getSetLimitMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.SetLimitRequest,
              rowlock.v1.SetLimitResponse>(
                service, METHODID_SET_LIMIT)))
        .addMethod(
          getGetLockMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.GetLockRequest,
              rowlock.v1.GetLockResponse>(
                service, METHODID_GET_LOCK)))
        .addMethod(
          getListLocksMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ListLocksRequest,
              rowlock.v1.ListLocksResponse>(
                service, METHODID_LIST_LOCKS)))
        .addMethod(
          getListLimitsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ListLimitsRequest,
              rowlock.v1.ListLimitsResponse>(
                service, METHODID_LIST_LIMITS)))
        .addMethod(
          getListClaimsMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ListClaimsRequest,
              rowlock.v1.ListClaimsResponse>(
                service, METHODID_LIST_CLAIMS)))
        .addMethod(
          getListChangesMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ListChangesRequest,
              rowlock.v1.ListChangesResponse>(
                service, METHODID_LIST_CHANGES)))
        .addMethod(
          getExplainWaitMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ExplainWaitRequest,
              rowlock.v1.ExplainWaitResponse>(
                service, METHODID_EXPLAIN_WAIT)))
        .addMethod(
          getWatchLocksMethod(),
          io.grpc.stub.ServerCalls.asyncServerStreamingCall(
            new MethodHandlers<
              rowlock.v1.WatchLocksRequest,
              rowlock.v1.WatchLocksResponse>(
                service, METHODID_WATCH_LOCKS)))
        .addMethod(
          getForceReleaseMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.ForceReleaseRequest,
              rowlock.v1.ForceReleaseResponse>(
                service, METHODID_FORCE_RELEASE)))
        .addMethod(
          getUpdateRecordMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.UpdateRecordRequest,
              rowlock.v1.UpdateRecordResponse>(
                service, METHODID_UPDATE_RECORD)))
        .addMethod(
          getCaptureMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.CaptureRequest,
              rowlock.v1.CaptureResponse>(
                service, METHODID_CAPTURE)))
        .addMethod(
          getDeleteRecordMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              rowlock.v1.DeleteRecordRequest,
              rowlock.v1.DeleteRecordResponse>(
                service, METHODID_DELETE_RECORD)))
        .addMethod(
          getSessionMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              rowlock.v1.SessionRequest,
              rowlock.v1.SessionResponse>(
                service, METHODID_SESSION)))
        .build();
  }

  private static abstract class LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    LockServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return rowlock.v1.LockServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("LockService");
    }
  }

  private static final class LockServiceFileDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier {
    LockServiceFileDescriptorSupplier() {}
  }

  private static final class LockServiceMethodDescriptorSupplier
      extends LockServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    LockServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (LockServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new LockServiceFileDescriptorSupplier())
              .addMethod(getAcquireMethod())
              .addMethod(getWaitInQueueMethod())
              .addMethod(getRenewMethod())
              .addMethod(getReleaseMethod())
              .addMethod(getSetLimitMethod())
              .addMethod(getGetLockMethod())
              .addMethod(getListLocksMethod())
              .addMethod(getListLimitsMethod())
              .addMethod(getListClaimsMethod())
              .addMethod(getListChangesMethod())
              .addMethod(getExplainWaitMethod())
              .addMethod(getWatchLocksMethod())
              .addMethod(getForceReleaseMethod())
              .addMethod(getUpdateRecordMethod())
              .addMethod(getCaptureMethod())
              .addMethod(getDeleteRecordMethod())
              .addMethod(getSessionMethod())
              .build();
        }
      }
    }
    return result;
  }
}
