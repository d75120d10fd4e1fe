// A request to a server, and the receiver of its answer. Called on the loop only.

package io.rowlock;

import com.google.protobuf.MessageOrBuilder;
import java.util.Optional;
import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

interface Ask {
  /**
   * Each kind has a queue in order of arrival, and bounds of its own: calls that keep and end leases, waits, and the
   * rest.
   */
  enum Kind {
    URGENT,
    OTHER,
    WAIT
  }

  /** When a call may be sent again after its answer was lost. */
  enum Repeat {
    ALWAYS,
    /** Always, but first over a connection whose server has answered: a second try cannot tell what the first one did. */
    ONCE_OPEN,
    /** Only if it cannot have taken effect. */
    UNSENT,
    /** Never over another connection. */
    ON_THIS_CONNECTION
  }

  Kind kind();

  Repeat repeat();

  /** Makes the command, each time that the call is sent. The caller sets its number. */
  SessionCommand.Builder command(Connection connection);

  /** What has the text of the caller, which is checked before there is a connection. */
  default Optional<MessageOrBuilder> text() {
    return Optional.empty();
  }

  /** How long to try without an answer before the call fails. */
  long giveUpAfter();

  /** Takes a result, which was true at {@code basis} or later. Returns true if this was the last result. */
  boolean answered(SessionResult result, long basis);

  void failed(RowlockException error);

  /** The trace context of the caller; empty if there is none. */
  default String traceparent() {
    return "";
  }

  /** False if what this call asks for happens soon by itself, so that closing the client does not wait for it. */
  default boolean holdsUpClosing() {
    return true;
  }

  /** True if nobody waits for this call. Failures that end other calls do not end it. */
  default boolean givesBack() {
    return false;
  }
}
