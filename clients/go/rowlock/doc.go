// Package rowlock is the Go client of Rowlock, a lock server. It offers locks, semaphores and readers-writer locks with
// a fair queue. The client renews the locks that it holds, and reports when one is lost.
//
// [Connect] makes a [Client], which holds all locks of a program over one connection and keeps them while servers come
// and go. [Client.WithLock] runs a function under a lock, with a context that is cancelled when the lock is lost.
// [Client.Lock] and [Client.TryLock] return locks that the caller releases. [Client.Work] runs a handler with each of many
// locks, and [Client.Watch] reports their changes. Send [Lock.Token] with every write to what
// a lock protects: if a process is suspended at the wrong moment, no client can stop its writes.
package rowlock
