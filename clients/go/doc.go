// Package rowlock is the client of Rowlock, the lock server: locks, semaphores and readers-writer locks that wait in a fair
// queue, renew themselves, and say so when they are lost.
//
// [Connect] makes a [Client], which holds all locks of a program over one connection and keeps them while servers come and go.
// [Client.WithLock] runs a function under a lock, with a context that is cancelled when the lock is lost; [Client.Lock] and
// [Client.TryLock] are for locks that are released by hand. Send [Lock.Token] with every write to what a lock protects: no
// client can stop a process that is stopped at the wrong moment.
package rowlock
