// Something to ask a server for, and who wants to know the answer. Called on the loop only.

package rowlock;

import rowlock.v1.SessionCommand;
import rowlock.v1.SessionResult;

interface Ask {
  /** Each is asked for in order of arrival, and has bounds of its own: what keeps leases, what waits, and the rest. */
  enum Kind {
    URGENT,
    OTHER,
    WAIT
  }

  /** When it may be asked for again. */
  enum Repeat {
    ALWAYS,
    /** Not once it may have taken effect. */
    UNSENT,
    /** Not over another connection. */
    IN_THIS_SESSION
  }

  Kind kind();

  Repeat repeat();

  /** What to ask for, each time that it is asked for. Its number is set by others. */
  SessionCommand.Builder command(Connection connection);

  /** Without an answer for so long it fails. */
  long giveUpAfter();

  /** A result, which was so at {@code basis} or later. Whether it was the last one. */
  boolean answered(SessionResult result, long basis);

  void failed(RowlockException error);

  /** Nobody waits for it, so that it outlasts what would be of no use to others. */
  default boolean givesBack() {
    return false;
  }
}
