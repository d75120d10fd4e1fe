// Accepts every certificate of a server, and remembers what another trust manager has against it. Only for a probe,
// which sends no secret.

package io.rowlock;

import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.X509ExtendedTrustManager;

final class LookedAt extends X509ExtendedTrustManager {
  private final X509ExtendedTrustManager judge;
  private CertificateException fault;

  LookedAt(X509ExtendedTrustManager judge) {
    this.judge = judge;
  }

  /** Null if there is none. */
  CertificateException fault() {
    return fault;
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {
    try {
      judge.checkServerTrusted(chain, type, socket);
    } catch (CertificateException found) {
      fault = found;
    }
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {
    throw new UnsupportedOperationException("The probe has sockets.");
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type) {
    throw new UnsupportedOperationException("The probe has sockets.");
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    judge.checkClientTrusted(chain, type, socket);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    judge.checkClientTrusted(chain, type, engine);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
    judge.checkClientTrusted(chain, type);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return judge.getAcceptedIssuers();
  }
}
