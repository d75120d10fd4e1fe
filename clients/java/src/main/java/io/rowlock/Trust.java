// Trusts the authorities that the user names. It checks more than Java does: Java accepts a certificate that is itself
// among the trusted ones, such as a self-signed one, even after it has expired.

package io.rowlock;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

final class Trust extends X509ExtendedTrustManager {
  private final X509ExtendedTrustManager java;

  private Trust(X509ExtendedTrustManager java) {
    this.java = java;
  }

  /** Throws an IllegalArgumentException if there is no certificate. */
  static Trust of(byte[] pem) {
    try {
      KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
      trusted.load(null, null);
      int count = 0;
      CertificateFactory factory = CertificateFactory.getInstance("X.509");
      for (Certificate certificate : factory.generateCertificates(new ByteArrayInputStream(pem)))
        trusted.setCertificateEntry("ca" + count++, certificate);
      if (count == 0) throw new CertificateException("there is none");
      return new Trust(trusting(trusted));
    } catch (GeneralSecurityException | IOException unreadable) {
      throw new IllegalArgumentException("ca: not a certificate in PEM", unreadable);
    }
  }

  /** Trusts the authorities that Java trusts. */
  static X509ExtendedTrustManager ofSystem() throws GeneralSecurityException {
    return trusting(null);
  }

  private static X509ExtendedTrustManager trusting(KeyStore authorities)
      throws GeneralSecurityException {
    TrustManagerFactory managers =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    managers.init(authorities);
    for (TrustManager manager : managers.getTrustManagers())
      if (manager instanceof X509ExtendedTrustManager found) return found;
    throw new IllegalStateException("This Java has no X509ExtendedTrustManager.");
  }

  /** Checks the server's own certificate. Java has checked those above it, if they were needed. */
  private static void checkTime(X509Certificate[] chain) throws CertificateException {
    chain[0].checkValidity();
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    java.checkServerTrusted(chain, type, engine);
    checkTime(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    java.checkServerTrusted(chain, type, socket);
    checkTime(chain);
  }

  @Override
  public void checkServerTrusted(X509Certificate[] chain, String type)
      throws CertificateException {
    java.checkServerTrusted(chain, type);
    checkTime(chain);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
      throws CertificateException {
    java.checkClientTrusted(chain, type, engine);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
      throws CertificateException {
    java.checkClientTrusted(chain, type, socket);
  }

  @Override
  public void checkClientTrusted(X509Certificate[] chain, String type)
      throws CertificateException {
    java.checkClientTrusted(chain, type);
  }

  @Override
  public X509Certificate[] getAcceptedIssuers() {
    return java.getAcceptedIssuers();
  }
}
