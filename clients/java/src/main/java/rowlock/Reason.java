package rowlock;

import java.util.Arrays;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Why something failed or was refused: what a program acts on. */
public enum Reason {
  /** Refused: others hold the lock, or wait for it. */
  BUSY,
  /** Refused: nothing is granted at present, as the limit is 0 or the database has failed over. */
  PAUSED,
  /** Refused: the queue is as long as it may be. */
  QUEUE_FULL,
  /** Refused: the wait is over. */
  TIMED_OUT,
  /** Refused: more permits were asked for than the limit allows in all. */
  NEVER_FITS,
  /** Refused: the lock is not due yet. */
  NOT_BEFORE,
  /** Refused: the lock has no attempts left. */
  EXHAUSTED,
  /** Refused: the lock has a status that is none of those wanted. */
  STATUS_MISMATCH,
  /** The place in the queue was given up, or the call was: by the thread that was interrupted, for one. */
  CANCELLED,
  /** The claim has ended: there was no sign of life of its waiter. */
  LAPSED,
  /** The claim has ended: its time to live ran out. */
  EXPIRED,
  /** The claim has ended: it was released. */
  RELEASED,
  /** The claim has ended: an operator ended it. */
  FORCE_RELEASED,

  /** What was asked for is wrong; {@link RowlockException#violations()} has all that is. */
  BAD_REQUEST,
  /** The message could not be read. */
  MALFORMED_MESSAGE,
  /** There is no such ticket or lease, or it ended too long ago. */
  UNKNOWN_CLAIM,
  /** There is no such lock. */
  UNKNOWN_LOCK,
  /** The lease has ended: others may hold the lock. */
  LEASE_LOST,
  /** The ticket still waits. */
  NOT_GRANTED_YET,
  /** Somebody holds the lock or waits for it, so that what it remembers is not taken away. */
  LOCK_IN_USE,
  /** The request id belongs to a claim for another lock, mode or number of permits. */
  REQUEST_ID_REUSED,
  /** The limit has another version; the metadata has it as {@code version}. */
  VERSION_MISMATCH,
  /** A bound of the server is reached; the metadata has its name as {@code bound}. */
  OVERLOADED,
  /** The request is larger than the server takes. */
  MESSAGE_TOO_LARGE,
  /** The server cannot find out whether a change was made: read it back. */
  OUTCOME_UNKNOWN,
  /** The server's database does not answer at the moment. */
  DATABASE_UNAVAILABLE,
  /** The server stops. */
  SHUTTING_DOWN,
  /** The server had not heard of this client for too long. */
  SESSION_SILENT,
  /** The time of the call is over. */
  TIMEOUT,
  /** A bug of the server. */
  INTERNAL,

  /** Of this client: no server has answered in time. */
  NO_SERVER,
  /** Of this client: the way to the server takes longer than a lease of this time to live can bear. */
  TTL_TOO_SHORT,
  /** Of this client: it was closed. */
  CLOSED,
  /** Of this client: the answer was lost, and to ask again is not safe: it may have been done or not. */
  CONNECTION_LOST,
  /** One that this client does not know, or an error that has none, of a proxy for one. */
  UNKNOWN;

  private static final Map<String, Reason> BY_NAME =
      Arrays.stream(values()).collect(Collectors.toMap(Enum::name, Function.identity()));
  private static final String REFUSAL_PREFIX = "REFUSAL_REASON_";

  static Reason of(String name) {
    return BY_NAME.getOrDefault(name, UNKNOWN);
  }

  static Reason of(rowlock.v1.RefusalReason reason) {
    return of(nameOf(reason));
  }

  static String nameOf(rowlock.v1.RefusalReason reason) {
    return reason == rowlock.v1.RefusalReason.UNRECOGNIZED
        ? UNKNOWN.name()
        : reason.name().substring(REFUSAL_PREFIX.length());
  }
}
