/**
 * A Rowlock server for tests, with JUnit 5 ({@link io.rowlock.testing.RowlockExtension}) or without ({@link
 * io.rowlock.testing.RowlockServer}).
 */
package io.rowlock.testing;
