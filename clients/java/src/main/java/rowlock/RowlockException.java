package rowlock;

import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The one class of errors: what a server has said, what was refused where a lock was demanded, and what this client finds.
 */
public final class RowlockException extends RuntimeException {
  private static final long serialVersionUID = 1;

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
