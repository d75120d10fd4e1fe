package io.rowlock;

/**
 * What was found at the address of a server that has not answered as a Rowlock server does.
 *
 * @param address {@code host:port}
 * @param kind for programs
 * @param sentence for people: what is there, and what to do
 */
public record Diagnosis(String address, Kind kind, String sentence) {
  /** What is wrong. */
  public enum Kind {
    /** Nobody listens at the port. */
    NOBODY_LISTENS(true),
    /** The name of the host is unknown. */
    NO_SUCH_HOST(true),
    /** A server of something else listens there. */
    OTHER_PROTOCOL(false),
    /** The server expects TLS. */
    WANTS_TLS(false),
    /** The server expects plain text. */
    WANTS_PLAIN_TEXT(false),
    /** The server's certificate is not from an authority that the client trusts. */
    UNTRUSTED(false),
    /** The server's certificate has expired, or is not valid yet. */
    EXPIRED(false),
    /** The server's certificate is for another name. */
    WRONG_NAME(false),
    /** The server requires a client certificate that it trusts. */
    WANTS_CLIENT_CERTIFICATE(false),
    /** The proxy that the environment of this program names lets nothing through to the address. */
    PROXY_REFUSES(false),
    /** A server is there, but does not answer, or not in time. */
    SILENT(true),
    /** The network does not let the client through. */
    UNREACHABLE(true);

    /** Whether waiting may help. */
    final boolean mayHeal;

    Kind(boolean mayHeal) {
      this.mayHeal = mayHeal;
    }
  }

  @Override
  public String toString() {
    return address + ": " + sentence;
  }
}
