package rowlocktest_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rowlock/rowlock/clients/go/internal/repository"
	"github.com/rowlock/rowlock/clients/go/rowlock"
	"github.com/rowlock/rowlock/clients/go/rowlocktest"
)

func TestALockIsLostOnPurpose(t *testing.T) {
	server := rowlocktest.Start(t, repository.Server())
	err := server.Client(t).WithLock(context.Background(), "etl/load", func(ctx context.Context, _ *rowlock.Lock) error {
		if err := server.Lose("etl/load"); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, rowlock.ErrLeaseLost) {
		t.Fatal(err)
	}
}

func TestTheServerStopsWithItsTest(t *testing.T) {
	address := ""
	t.Run("a test with a server", func(t *testing.T) { address = rowlocktest.Start(t, repository.Server()).Address() })
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Fatal("it listens still")
	}
}

func TestTheErrorSaysHowToGetTheServer(t *testing.T) {
	_, err := rowlocktest.Launch(rowlocktest.Command("/no/such/command"))
	if err == nil || err.Error() == "" {
		t.Fatal(err)
	}
	_, err = rowlocktest.Launch(rowlocktest.Command("true"))
	if err == nil {
		t.Fatal("true is no server")
	}
}
