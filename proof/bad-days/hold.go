// Takes a lock, and holds it until it is lost or somebody writes to standard input. See players.ts.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rowlock/rowlock/clients/go/rowlock"
)

func say(words ...string) {
	line, _ := json.Marshal(words)
	fmt.Println(string(line))
}

func main() {
	giveUpAfter, err := time.ParseDuration(os.Getenv("GIVE_UP_SECONDS") + "s")
	if err != nil {
		panic(err)
	}
	client, err := rowlock.Connect(rowlock.Config{
		Addresses:   []string{os.Getenv("ROWLOCK_ADDR")},
		GiveUpAfter: giveUpAfter,
		TLS:         trusted(os.Getenv("CA")),
	})
	if err != nil {
		panic(err)
	}
	leave := make(chan struct{})
	go func() {
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err == nil {
			close(leave)
		}
	}()
	say("begins")
	hold := func(ctx context.Context, _ *rowlock.Lock) error {
		say("held")
		select {
		case <-ctx.Done():
			say("signalled")
		case <-leave:
		}
		return nil
	}
	waiting := rowlock.OnPosition(func(rowlock.Place) { say("waiting") })
	err = client.WithLock(context.Background(), os.Getenv("LOCK"), hold, rowlock.TTL(5*time.Second), waiting)
	var failed *rowlock.Error
	switch {
	case err == nil:
		say("left")
	case errors.As(err, &failed):
		say("failed", fmt.Sprintf("*rowlock.Error, reason %s", failed.Reason), err.Error())
	default:
		say("failed", fmt.Sprintf("%T", err), err.Error())
	}
}

// trusted is nil for plain text.
func trusted(ca string) *tls.Config {
	if ca == "" {
		return nil
	}
	if ca == "system" {
		return &tls.Config{}
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		panic(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: pool}
}
