package rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The one class of errors: what a server has said, what was refused where a lock was demanded, and what this client finds.
 */
public final class RowlockException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** Nothing was done, or what was done is known. */
  private static final Set<Status.Code> DECIDED =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.NOT_FOUND,
          Status.Code.ALREADY_EXISTS,
          Status.Code.FAILED_PRECONDITION,
          Status.Code.ABORTED);

  private static final Set<Status.Code> REFUSES_SESSION =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.UNAUTHENTICATED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNIMPLEMENTED);

  /** Does not survive serialization: the message does. */
  private final transient ErrorDetails details;

  RowlockException(String message, ErrorDetails details, Throwable cause) {
    super(message, cause);
    this.details = details;
  }

  RowlockException(Reason reason, Status.Code code, String message) {
    this(message, ErrorDetails.of(reason, code), null);
  }

  static RowlockException closed() {
    return new RowlockException(Reason.CLOSED, Status.Code.CANCELLED, "This client was closed.");
  }

  static RowlockException refused(String name, Refusal refusal) {
    String message = "The lock \"" + name + "\" was not granted: " + refusal.message();
    return new RowlockException(message, ErrorDetails.of(refusal), null);
  }

  static RowlockException leaseLost(String lockName, String endReason, String message) {
    String full = "The lease on \"" + lockName + "\" " + message;
    return new RowlockException(full, ErrorDetails.leaseLost(endReason), null);
  }

  static RowlockException ttlTooShort(HeldLease lease) {
    String message =
        "The lease on \""
            + lease.lockName
            + "\" is too short for the way to the server: "
            + lease.remaining() / 1_000_000
            + " ms are left when an answer is here. Ask for a longer time to live.";
    return new RowlockException(Reason.TTL_TOO_SHORT, Status.Code.FAILED_PRECONDITION, message);
  }

  /** The same, of a request for a lease without end that a server may have granted. */
  RowlockException mayBeHeld(String name, String requestId, boolean isGivenBack) {
    String rest =
        isGivenBack
            ? "this client goes on giving it back."
            : "ask for it again under that request id, or release it.";
    String message =
        getMessage()
            + " The lock \"" + name + "\" may be held, under the request id " + requestId + ": " + rest;
    return new RowlockException(message, details().mayBeHeld(requestId), this);
  }

  /** Whether what was asked for may have been done all the same, where a server may know of it. */
  boolean leavesDoubt() {
    return !DECIDED.contains(code());
  }

  /** Whether a session that ends so before it has opened has taken no command. */
  boolean refusesSession() {
    return REFUSES_SESSION.contains(code());
  }

  /** The same, thrown by another thread than that which has found it. */
  RowlockException again() {
    return new RowlockException(getMessage(), details, this);
  }

  /**
   * What a program acts on.
   *
   * @return the reason; {@link Reason#UNKNOWN} where this client does not know it
   */
  public Reason reason() {
    return details().reason();
  }

  /**
   * The reason as the server names it, also where this client does not know it.
   *
   * @return such as {@code LEASE_LOST}
   */
  public String reasonName() {
    return details().reasonName();
  }

  /**
   * The gRPC code.
   *
   * @return such as {@code UNAVAILABLE}
   */
  public Status.Code code() {
    return details().code();
  }

  /**
   * All that is wrong with a request.
   *
   * @return empty unless the reason is {@link Reason#BAD_REQUEST}
   */
  public List<Violation> violations() {
    return details().violations();
  }

  /**
   * What the server adds for programs.
   *
   * @return such as {@code end_reason} of {@link Reason#LEASE_LOST}
   */
  public Map<String, String> metadata() {
    return details().metadata();
  }

  /**
   * When another try can help, as the server says.
   *
   * @return empty where it says nothing
   */
  public Optional<Duration> retryAfter() {
    return details().retryAfter();
  }

  /**
   * Where the lock was refused.
   *
   * @return how; empty where the error is none of a refusal
   */
  public Optional<Refusal> refusal() {
    return details().refusal();
  }

  private ErrorDetails details() {
    return details == null ? ErrorDetails.of(Reason.UNKNOWN, Status.Code.UNKNOWN) : details;
  }

  /** Whether the server has answered that nothing was done. */
  boolean isUndone() {
    return reason() == Reason.OVERLOADED
        || reason() == Reason.DATABASE_UNAVAILABLE
        || reason() == Reason.SHUTTING_DOWN;
  }

  /** Whether the same call, a little later, may well succeed. */
  boolean isTransient() {
    return code() == Status.Code.UNAVAILABLE || reason() == Reason.OVERLOADED;
  }

  /** Whether a Rowlock server has said it, and nothing between. */
  boolean isOfServer() {
    return details().isOfServer();
  }
}
